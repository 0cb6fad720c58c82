"""What a refresh finds when another worker is ahead of its pins: nothing goes back, and nothing is claimed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.catalog import Dependency, SourceType, StreamTableMeta
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.run.workspace import Logs
from penstock.errors import QueryInvalid
from penstock.names import Frontier, SourceVersion, TableName
from penstock.refresh.stages import survey as surveying
from penstock.refresh.stages.pin import PinnedForReading, Pins
from penstock.refresh.stages.survey import Surveyed, SurveyInputs, survey, with_basis

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="h")


def inputs(source: str, view_hash: str = "", function_hash: str | None = None) -> SurveyInputs:
    known = Dependency(source_id=source, source_name="shop.orders", source_type=SourceType.TABLE, columns_used=("id",))
    return SurveyInputs(Logs(), lambda _: [known], lambda _: view_hash, lambda _: function_hash)


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A source at version 4."""
    for number in range(5):
        write_deltalake(str(tmp_path / "orders"), pa.table({"id": [number]}), mode="append")
    return tmp_path / "orders"


def seen(orders: Path, stored: int, pinned: int, stamp: datetime = NOW) -> tuple[PinnedForReading, str]:
    source = str(DeltaTable(str(orders)).metadata().id)
    before = Frontier({source: SourceVersion(stored)}, NOW, {"x": stored})
    definition: Any = SimpleNamespace(sources={source: str(orders)}, views={}, functions={}, hash="h", reads={})
    record = SimpleNamespace(frontier=before, definition_hash="h")
    state: Any = SimpleNamespace(version=1, record=record, record_version=1, damaged=None)
    return PinnedForReading(META, definition, state, Pins({source: pinned}, stamp, {"x": pinned})), source


def surveyed(orders: Path, stored: int, pinned: int, stamp: datetime = NOW) -> tuple[Surveyed, str]:
    table, source = seen(orders, stored, pinned, stamp)
    return survey(table, inputs(source)), source


def test_the_pins_are_what_is_read_and_what_is_shown(orders: Path) -> None:
    found, source = surveyed(orders, stored=1, pinned=3, stamp=NOW + timedelta(minutes=1))
    assert found.rebuild is None
    assert found.data_changed
    assert found.after.version(source) == 3
    assert found.after.bases == {"x": 3}
    assert found.after.data_timestamp == NOW + timedelta(minutes=1)


def test_whoever_is_ahead_of_the_pins_stays_there_with_what_it_showed(orders: Path) -> None:
    found, source = surveyed(orders, stored=3, pinned=1, stamp=NOW - timedelta(minutes=1))
    assert found.rebuild is None
    assert not found.data_changed
    assert found.after.version(source) == 3
    assert found.after.bases == {"x": 3}, "not those of the pins"
    assert found.after.data_timestamp == NOW, "a data timestamp never moves back"


def test_a_source_that_really_went_back_is_a_reason_to_rebuild(orders: Path) -> None:
    found, source = surveyed(orders, stored=9, pinned=4)
    assert found.rebuild is not None
    assert found.rebuild == ("SOURCE_CHANGED", "shop.orders went back from version 9 to 4"), "by its name"
    assert found.after.version(source) == 4


def test_whoever_is_partly_ahead_of_the_pins_claims_nothing_of_what_it_shows(orders: Path, tmp_path: Path) -> None:
    for number in range(5):
        write_deltalake(str(tmp_path / "items"), pa.table({"id": [number]}), mode="append")
    paths = {str(DeltaTable(str(path)).metadata().id): str(path) for path in (orders, tmp_path / "items")}
    first, second = paths
    before = Frontier({first: SourceVersion(3), second: SourceVersion(2)}, NOW, {"x": 3})
    definition: Any = SimpleNamespace(sources=paths, views={}, functions={}, hash="h", reads={})
    record = SimpleNamespace(frontier=before, definition_hash="h")
    state: Any = SimpleNamespace(version=1, record=record, record_version=1, damaged=None)
    found = survey(PinnedForReading(META, definition, state, Pins({first: 1, second: 4}, NOW, {"x": 1})), inputs(first))
    assert {source: found.after.version(source) for source in paths} == {first: 3, second: 4}
    assert found.after.bases is None


@pytest.fixture
def classified(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The logs that were read from one version to another."""
    calls: list[Path] = []
    plain = surveying.classify

    def counted(log: DeltaLog, *given: Any) -> Any:
        calls.append(Path(log.root))
        return plain(log, *given)

    monkeypatch.setattr(surveying, "classify", counted)
    return calls


def test_a_refresh_takes_over_what_its_check_has_found(orders: Path, classified: list[Path]) -> None:
    table, source = seen(orders, stored=1, pinned=3)
    found = with_basis(survey(table, inputs(source)), table, Logs())
    assert survey(table, inputs(source), found) is found
    assert classified == [orders]


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(lambda table: replace(table, meta=replace(META, reinit_requests=1)), id="a rebuild was asked for"),
        pytest.param(
            lambda table: replace(table, pins=replace(table.pins, data_timestamp=NOW + timedelta(minutes=1))),
            id="other pins",
        ),
        pytest.param(
            lambda table: replace(table, state=SimpleNamespace(**{**vars(table.state), "version": 2})),
            id="somebody committed to it",
        ),
        pytest.param(
            lambda table: replace(table, definition=SimpleNamespace(**{**vars(table.definition), "hash": "i"})),
            id="another definition",
        ),
    ],
)
def test_what_is_not_the_same_any_more_is_surveyed_again(
    orders: Path, classified: list[Path], now: Callable[[PinnedForReading], PinnedForReading]
) -> None:
    table, source = seen(orders, stored=1, pinned=3)
    found = with_basis(survey(table, inputs(source)), table, Logs())
    survey(now(table), inputs(source), found)
    assert classified == [orders, orders]


def test_a_source_that_was_made_anew_is_surveyed_again(orders: Path, classified: list[Path]) -> None:
    table, source = seen(orders, stored=1, pinned=3)
    found = with_basis(survey(table, inputs(source)), table, Logs())
    shutil.rmtree(orders)
    for number in range(5):
        write_deltalake(str(orders), pa.table({"id": [number]}), mode="append")
    again = survey(table, inputs(source), found)
    assert again.rebuild == ("SOURCE_CHANGED", "shop.orders was dropped and created again")
    assert classified == [orders, orders]


def test_views_and_functions_are_asked_about_every_time(orders: Path, classified: list[Path]) -> None:
    table, source = seen(orders, stored=1, pinned=3)
    definition: Any = SimpleNamespace(**{**vars(table.definition), "views": {"v": "1"}, "functions": {"f": "2"}})
    table = replace(table, definition=definition)
    found = with_basis(survey(table, inputs(source, "1", "2")), table, Logs())
    assert found.rebuild is None
    redefined = survey(table, inputs(source, "other", "2"), found)
    assert (redefined.rebuild, redefined.cause) == (("VIEW_CHANGED", "view v was redefined"), "view:v")
    other = survey(table, inputs(source, "1", "other"), found)
    assert (other.rebuild, other.cause) == (("UDF_CHANGED", "function f was redefined"), "f")
    with pytest.raises(QueryInvalid, match="function f"):
        survey(table, inputs(source, "1", None), found)
    assert classified == [orders]
