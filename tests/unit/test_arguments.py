"""Arguments are checked at the door of every public function, before anything is looked at or changed."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import penstock
from penstock.api import StreamTables
from penstock.arguments import PARAMETERS, checked, fits
from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.engine.delta.commit_record import CommitRecord
from penstock.errors import InvalidArgument
from penstock.monitor.http import Server
from penstock.names import Frontier
from penstock.schedule.running import Running
from penstock.subscribe.all_changes import AllChanges
from penstock.subscribe.callback import CallbackSubscription
from penstock.subscribe.feed import Follower
from penstock.subscribe.key_watch import KeyWatch
from penstock.subscribe.subscription import Subscription
from penstock.testing import FakeClock

CLASSES = (
    StreamTables,
    Subscription,
    CallbackSubscription,
    KeyWatch,
    AllChanges,
    Changelog,
    Running,
    Server,
    FakeClock,
)
OTHERS = {
    "penstock.open": penstock.open,
    "penstock.open_lazily": penstock.open_lazily,
    "penstock.repair": penstock.repair,
}
ENTRY = Entry(0, CommitRecord("", "", "", "", Frontier({})))
RIGHT = (
    "orders",
    1,
    1.5,
    True,
    ["a"],
    {"enabled": True},
    print,
    datetime(2026, 1, 1, tzinfo=UTC),
    None,
    "every",
    ENTRY,
    [ENTRY],
    datetime(2026, 1, 1, tzinfo=UTC) - datetime(2025, 1, 1, tzinfo=UTC),
)


class Stranger:
    """Fits no parameter."""


def _public() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from OTHERS.items()  # type: ignore[misc]
    yield "StreamTables", StreamTables.__init__
    for owner in CLASSES:
        for name, method in vars(owner).items():
            if inspect.isfunction(method) and not name.startswith("_") and name not in vars(Follower):
                yield f"{owner.__name__}.{name}", method


def _cases() -> Iterator[Any]:
    for called, function in _public():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
                yield pytest.param(function, parameter.name, id=f"{called}-{parameter.name}")


def _arguments(function: Callable[..., Any], **wrong: object) -> tuple[list[object], dict[str, object]]:
    """A call in which everything fits but what is `wrong`."""
    kinds = get_type_hints(function)
    me: list[object] = []
    named: dict[str, object] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            me.append(object())
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            named[name] = next(each for each in RIGHT if fits(each, kinds[name]))
    return me, named | wrong


@pytest.mark.parametrize(("function", "name"), list(_cases()))
def test_a_wrong_type_for_any_parameter_is_named_with_what_is_accepted(function: Callable[..., Any], name: str) -> None:
    kind = get_type_hints(function)[name]
    for wrong in (Stranger(), b"bytes", 7, 1.5, True, "loud", ["a"], {"a": 1}, print):
        if fits(wrong, kind):
            continue
        me, named = _arguments(function, **{name: wrong})
        with pytest.raises(InvalidArgument) as refused:
            function(*me, **named)
        assert f"for {name}" in refused.value.text
        assert "Give " in refused.value.advice
        assert " such as " in refused.value.advice
    assert not fits(Stranger(), kind)


@pytest.mark.parametrize(("called", "function"), list(_public()))
def test_arguments_too_many_unknown_or_missing_are_errors_of_ours(called: str, function: Callable[..., Any]) -> None:
    me, named = _arguments(function)
    with pytest.raises(InvalidArgument, match="by position"):
        function(*me, *(["orders"] * 20))
    if all(each.kind is not each.VAR_KEYWORD for each in inspect.signature(function).parameters.values()):
        with pytest.raises(InvalidArgument, match="has no argument nonsense"):
            function(*me, **named, nonsense=1)
    for name in named:
        with pytest.raises(InvalidArgument, match=f"needs {name}"):
            function(*me, **{each: value for each, value in named.items() if each != name})


def test_every_parameter_of_a_public_function_is_in_the_table() -> None:
    found = {
        name
        for _, function in _public()
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    }
    assert found == {name.rpartition(".")[2] for name in PARAMETERS}


def test_refused_calls_change_nothing(tmp_path: Path) -> None:
    with penstock.open_lazily(tmp_path / "warehouse") as ps:
        before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
        told = []
        for call in (
            lambda: ps.refresh(["a", "b"]),  # type: ignore[arg-type]
            lambda: ps.refresh("rev", "loud"),  # type: ignore[arg-type,call-arg]
            lambda: ps.create_stream_table("x", _Pandas()),  # type: ignore[arg-type]
            lambda: ps.create_stream_table("x", "SELECT 1", key="id"),
            lambda: ps.history("rev", 0),
            lambda: ps.serve_metrics(port=70_000),
            lambda: ps.tick(datetime(2026, 1, 1)),
            lambda: ps.refresh(nmae="rev"),  # type: ignore[call-arg]
            lambda: penstock.open(tmp_path / "other", spark="hello"),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidArgument) as refused:
                call()
            told.append(str(refused.value).replace("[INVALID_ARGUMENT] ", "").replace("\n  ", " | "))
        assert {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()} == before
    query = '"SELECT region, sum(amount) AS total FROM orders GROUP BY region"'
    assert told == [
        "refresh() was given ['a', 'b'], a list for name | Give one at a time: text, such as \"revenue\".",
        "refresh() takes only name by position, and was given 'loud', a str too | Give the others by name: progress=….",
        "create_stream_table() was given a pandas DataFrame for query | Give text, a Spark DataFrame or a function, "
        f"such as {query}. Of pandas' rows make a table first: ps.spark.createDataFrame(…).write.saveAsTable(…).",
        "create_stream_table() was given 'id', a str for key | Give a list of text or None, such as [\"region\"].",
        "history() was given 0 for max_rows | Give a whole number from 1 on, such as 20.",
        "serve_metrics() was given 70000 for port | "
        "Give a whole number from 0 to 65535, such as 0, which takes a free one.",
        "tick() was given datetime.datetime(2026, 1, 1, 0, 0), a datetime for now, without a time zone | "
        "Give a moment that says its time zone, such as datetime.now(UTC).",
        "refresh() has no argument nmae | Did you mean name?",
        "open() was given 'hello', a str for spark | Give a SparkSession or None, such as "
        "spark=SparkSession.builder…getOrCreate().",
    ]
    assert not (tmp_path / "other").exists()


def test_a_value_of_the_right_type_that_nothing_can_hold_is_refused_too(tmp_path: Path) -> None:
    with penstock.open_lazily(tmp_path / "warehouse") as ps:
        changes = ps.all_changes()
        told = []
        for call in (
            lambda: ps.history(max_rows=2**63),
            lambda: changes.page(-(2**63) - 1, 10),
            lambda: changes.wait(0, timeout=math.nan),
            lambda: changes.wait(0, timeout=math.inf),
            lambda: ps.history("half\ud800"),
        ):
            with pytest.raises(InvalidArgument) as refused:
                call()
            told.append(str(refused.value).replace("[INVALID_ARGUMENT] ", "").replace("\n  ", " | "))
    assert told == [
        "history() was given 9223372036854775808 for max_rows | Give a whole number that 64 bits hold, such as 20.",
        "page() was given -9223372036854775809 for since_lsn | Give a whole number that 64 bits hold, such as 0.",
        "wait() was given nan for timeout | Give a number of seconds that can be waited, such as 1.5.",
        "wait() was given inf for timeout | Give a number of seconds that can be waited, such as 1.5.",
        "history() was given 'half\\ud800' for name, half a character | Give text whose characters Unicode has, such "
        'as "revenue".',
    ]


def test_names_may_come_in_whatever_gives_them_one_by_one() -> None:
    for names in (["a", "b"], ("a", "b"), {"a": 1, "b": 2}, {"a": 1, "b": 2}.keys()):
        assert _joined(names) == "ab"
    with pytest.raises(InvalidArgument, match="for names"):
        _joined({"a": 1, 7: 2})  # type: ignore[dict-item]
    with pytest.raises(InvalidArgument, match="for names"):
        _joined("ab")


def test_an_iterator_is_read_once_and_handed_on() -> None:
    assert _joined(each for each in "abc") == "abc"
    with pytest.raises(InvalidArgument, match="for names"):
        _joined(each for each in ("a", 7))  # type: ignore[misc]


@checked
def _joined(names: Iterable[str]) -> str:
    return "".join(names)


class _Pandas:
    """Stands for a DataFrame of pandas."""


_Pandas.__module__, _Pandas.__qualname__, _Pandas.__name__ = "pandas.core.frame", "DataFrame", "DataFrame"
