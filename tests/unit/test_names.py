"""Names are read as Spark reads them; frontiers are a lattice whose JSON form loses nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidName
from penstock.names import Frontier, Interval, SourceVersion, TableName, quote

moments = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))
maybe_moments = st.none() | moments
# Few sources and few versions, so that frontiers often meet.
frontiers = st.builds(
    Frontier,
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]), st.builds(SourceVersion, st.integers(0, 3), maybe_moments), max_size=3
    ),
    maybe_moments,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Orders", TableName("default", "orders")),
        (" sales.Orders ", TableName("sales", "orders")),
        ("Cat.s.t", TableName("s", "t", "cat")),
        ("`odd.schema`.`a``b c`", TableName("odd.schema", "a`b c")),
    ],
)
def test_names_are_read_without_regard_to_case(text: str, name: TableName) -> None:
    assert TableName.parse(text) == name


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "a.b.c.d", "a b", "`a", "a`b`", "``", "__ps_x", "s.__PS_x", "a/b", "`..`"]
)
def test_unusable_names_are_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        TableName.parse(text)


def test_the_default_schema_is_the_one_given() -> None:
    assert TableName.parse("t", "sales") == TableName("sales", "t")


part = st.text(st.characters(codec="utf-8", exclude_characters="/\\"), min_size=1, max_size=6).filter(
    lambda text: text == text.lower() and not text.startswith("__ps_") and text not in {".", ".."}
)


@given(part, part)
def test_sql_text_reads_back_as_the_same_name(schema: str, table: str) -> None:
    assert TableName.parse(TableName(schema, table).sql) == TableName(schema, table)


@given(st.text())
def test_a_quoted_identifier_ends_where_it_should(text: str) -> None:
    assert quote(text)[1:-1].replace("``", "") == text.replace("`", "")
    assert quote(text)[1:-1].replace("``", "`") == text


@given(frontiers, frontiers, frontiers)
def test_frontiers_are_partially_ordered(a: Frontier, b: Frontier, c: Frontier) -> None:
    assert a <= a
    if a <= b and b <= a:
        assert a.same_versions(b)
    if a <= b and b <= c:
        assert a <= c


def test_frontiers_can_be_incomparable() -> None:
    a, b = Frontier.of({"x": 1, "y": 2}), Frontier.of({"x": 2, "y": 1})
    assert not a <= b
    assert not b <= a
    assert not a.comparable(b)
    assert a.comparable(a.merge(b))
    assert not Frontier.of({"x": 1}) <= Frontier.of({"y": 1})


@given(frontiers, frontiers, frontiers)
def test_merge_is_the_least_upper_bound(a: Frontier, b: Frontier, c: Frontier) -> None:
    merged = a.merge(b)
    assert a <= merged
    assert b <= merged
    if a <= c and b <= c:
        assert merged <= c
    assert merged.same_versions(b.merge(a))
    assert merged.data_timestamp == b.merge(a).data_timestamp
    assert a.merge(b.merge(c)).same_versions(merged.merge(c))
    assert a.merge(a) == a


@given(frontiers)
def test_json_loses_nothing(frontier: Frontier) -> None:
    assert Frontier.from_json(frontier.dumps()) == frontier
    assert Frontier.from_json(frontier.to_json()) == frontier
    assert Frontier.from_json(frontier.dumps()).dumps() == frontier.dumps()


def test_the_json_form_is_the_documented_one() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=1)))
    frontier = Frontier({"b": SourceVersion(2, at), "a": SourceVersion(1)}, at)
    assert frontier.dumps() == (
        '{"format":1,"sources":{"a":{"version":1,"snapshot_ts":null},'
        '"b":{"version":2,"snapshot_ts":"2026-01-02T02:04:05.000006+00:00"}},'
        '"data_timestamp":"2026-01-02T02:04:05.000006+00:00"}'
    )


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 2"):
        Frontier.from_json({"format": 2, "sources": {}})


def test_an_interval_tells_what_moved_and_cannot_run_backwards() -> None:
    before, after = Frontier.of({"a": 1, "b": 1}), Frontier.of({"a": 1, "b": 2, "c": 0})
    assert Interval(before, after).moved == {"b", "c"}
    assert Interval(after, after).moved == frozenset()
    with pytest.raises(ValueError, match="before it starts"):
        Interval(after, before)
