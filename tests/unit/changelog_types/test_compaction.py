"""Compaction: netted to the bit, collapsed by key, and nothing said that was not so."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.compaction import collapse, net
from penstock.errors import InvalidChange, NotOneRowPerKey
from penstock.names import WEIGHT

VALUES = st.none() | st.integers(0, 2)
CHANGES = st.lists(st.tuples(VALUES, VALUES, st.integers(-3, 3)))


def table(rows: list[tuple[Any, Any, int]]) -> pa.Table:
    columns: Any = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table(dict(zip(("a", "b", WEIGHT), (pa.array(each, pa.int64()) for each in columns), strict=True)))


@given(CHANGES)
def test_net_is_the_sum_of_weights_by_row(rows: list[tuple[Any, Any, int]]) -> None:
    sums = Counter[tuple[Any, Any]]()
    for a, b, weight in rows:
        sums[a, b] += weight
    netted = net(table(rows))
    assert netted.schema == table(rows).schema
    told = {(row["a"], row["b"]): row[WEIGHT] for row in netted.to_pylist()}
    assert told == {row: weight for row, weight in sums.items() if weight}
    assert netted.num_rows == len(told)
    assert net(netted).equals(netted)


def test_rows_are_compared_to_the_bit() -> None:
    changes = pa.table({"x": [0.0, -0.0, math.nan, math.nan, None, None], WEIGHT: [1, -1, 1, 1, 2, -2]})
    netted = net(changes)
    assert [math.copysign(1, each) for each in netted.column("x").to_pylist()[:2]] == [1, -1]
    assert netted.column(WEIGHT).to_pylist() == [1, -1, 2]


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (pa.list_(pa.int64()), [1, None], [1]),
        (pa.struct({"x": pa.float64()}), {"x": 0.0}, {"x": -0.0}),
        (pa.map_(pa.string(), pa.decimal128(3, 1)), [("k", Decimal("1.0"))], []),
        (pa.list_(pa.list_(pa.string())), [["a"], None], [["a"], []]),
        (pa.binary(), b"\x00", b""),
        (pa.decimal128(38, 18), Decimal("1.000000000000000001"), Decimal(1)),
        (pa.dictionary(pa.int32(), pa.string()), "a", "b"),
        (pa.timestamp("us", "UTC"), 1, 2),
        (pa.bool_(), True, False),
    ],
)
def test_every_type_can_be_netted(kind: pa.DataType, one: Any, other: Any) -> None:
    changes = pa.table({"x": pa.array([one, other, None, one, None], kind), WEIGHT: [1, 1, 1, -1, 1]})
    netted = net(changes)
    assert netted.column("x").to_pylist() == pa.array([other, None], kind).to_pylist()
    assert netted.column(WEIGHT).to_pylist() == [1, 2]


def test_rows_without_columns() -> None:
    assert net(pa.table({WEIGHT: [1, 2]})).to_pydict() == {WEIGHT: [3]}
    assert net(pa.table({WEIGHT: [1, -1]})).num_rows == 0


def test_the_weight_stays_in_its_place() -> None:
    assert net(pa.table({WEIGHT: [1, 1], "x": [5, 5]})).to_pydict() == {WEIGHT: [2], "x": [5]}


@given(st.dictionaries(VALUES, VALUES, max_size=3), st.lists(st.dictionaries(VALUES, VALUES, max_size=3), max_size=3))
def test_collapsed_changes_lead_to_the_same_table(start: dict[Any, Any], then: list[dict[Any, Any]]) -> None:
    """Several steps of a table with one row per key, collapsed into one."""
    rows, before = [], start
    for after in then:
        rows += [(key, value, -1) for key, value in before.items()]
        rows += [(key, value, 1) for key, value in after.items()]
        before = after
    collapsed = collapse(table(rows), ["a"])
    held = dict(start)
    for key in collapsed.deletes.column("a").to_pylist():
        del held[key]
    held.update((row["a"], row["b"]) for row in collapsed.upserts.to_pylist())
    assert held == before


def test_only_negatives_are_one_delete_of_the_key() -> None:
    collapsed = collapse(table([(1, 1, -1), (1, 2, -1), (2, 0, 1)]), ["a"])
    assert collapsed.deletes.to_pydict() == {"a": [1]}
    assert collapsed.upserts.to_pydict() == {"a": [2], "b": [0]}


@pytest.mark.parametrize("rows", [[(7, 1, 1), (7, 2, 1)], [(7, 1, 2)]])
def test_two_live_rows_name_the_key(rows: list[tuple[Any, Any, int]]) -> None:
    with pytest.raises(NotOneRowPerKey, match="a = 7 would have 2 rows at once"):
        collapse(table([(1, 1, 1), *rows]), ["a"])


@pytest.mark.parametrize("key", [[], ["nowhere"], [WEIGHT], ["a", WEIGHT]])
def test_what_is_no_key_is_refused(key: list[str]) -> None:
    with pytest.raises(InvalidChange, match="it must name columns"):
        collapse(table([]), key)


@pytest.mark.parametrize(
    "changes",
    [pa.table({"x": [1]}), pa.table({"x": [1], WEIGHT: ["1"]}), pa.table({WEIGHT: pa.array([1, None])})],
)
def test_changes_without_good_weights_are_refused(changes: pa.Table) -> None:
    with pytest.raises(InvalidChange):
        net(changes)
