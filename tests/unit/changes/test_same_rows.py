"""Rows are the same bit by bit, nested values included."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.changes.filter.same_rows import same_rows

NAN = float("nan")
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
PAIR = pa.struct([("x", pa.float64()), ("y", pa.list_(pa.int32()))])


@pytest.mark.parametrize(
    ("kind", "left", "right", "same"),
    [
        (pa.int32(), 1, 1, True),
        (pa.int32(), None, None, True),
        (pa.int32(), None, 0, False),
        (pa.float64(), NAN, OTHER_NAN, True),
        (pa.float32(), NAN, NAN, True),
        (pa.float64(), 0.0, -0.0, False),
        (pa.float32(), 0.0, -0.0, False),
        (pa.float64(), NAN, None, False),
        (pa.string(), "e\u0301", "é", False),
        (pa.binary(), b"\x00", b"", False),
        (pa.null(), None, None, True),
        (pa.list_(pa.float64()), [NAN, None, 0.0], [NAN, None, 0.0], True),
        (pa.list_(pa.float64()), [0.0], [-0.0], False),
        (pa.list_(pa.float64()), [], None, False),
        (pa.list_(pa.float64()), [1.0], [1.0, 1.0], False),
        (pa.list_(pa.list_(pa.int32())), [[1], [], None], [[1], [], None], True),
        (pa.list_(pa.list_(pa.int32())), [[1], []], [[], [1]], False),
        (PAIR, {"x": NAN, "y": [1]}, {"x": NAN, "y": [1]}, True),
        (PAIR, {"x": 1.0, "y": None}, {"x": 1.0, "y": []}, False),
        (PAIR, None, {"x": None, "y": None}, False),
        (pa.map_(pa.string(), pa.float64()), [("a", 1.0)], [("a", 1.0)], True),
        (pa.map_(pa.string(), pa.float64()), [("a", 0.0)], [("a", -0.0)], False),
        (pa.map_(pa.string(), PAIR), [("a", {"x": 1.0, "y": [2]})], [("a", {"x": 1.0, "y": [3]})], False),
    ],
)
def test_one_value(kind: Any, left: object, right: object, same: bool) -> None:
    # Rows around it, so that a slip by one row shows.
    before = pa.table({"v": pa.array([left, left, right], kind)})
    after = pa.table({"v": pa.array([left, right, right], kind)})
    assert same_rows(before, after).to_pylist() == [True, same, True]


def test_every_column_counts() -> None:
    before = pa.table({"a": [1, 1, 1], "b": ["x", "x", None]})
    after = pa.table({"a": [1, 2, 1], "b": ["x", "x", "x"]})
    assert same_rows(before, after).to_pylist() == [True, False, False]


def test_rows_without_columns_are_the_same() -> None:
    rows = pa.table({"a": [1, 2]}).select([])
    assert same_rows(rows, rows).to_pylist() == [True] * rows.num_rows


def test_slices_and_chunks() -> None:
    rows = pa.table({"v": pa.array([[1.0], None, [NAN], [0.0, 1.0]] * 3, pa.list_(pa.float64()))})
    chunked = pa.concat_tables([rows.slice(0, 5), rows.slice(5)])
    assert same_rows(chunked.slice(2, 8), rows.slice(2, 8)).to_pylist() == [True] * 8


def bits(value: object) -> object:
    """The value in a form whose equality is the law: by the text of floats, so NaN = NaN and 0.0 is not -0.0."""
    if isinstance(value, list):
        return [bits(part) for part in value]
    if isinstance(value, dict):
        return {name: bits(part) for name, part in value.items()}
    return repr(value) if isinstance(value, float) else value


FLOATS = st.sampled_from([0.0, -0.0, NAN, 1.5, None])
NESTED = st.none() | st.lists(
    st.none()
    | st.fixed_dictionaries({"x": FLOATS, "y": st.none() | st.lists(st.sampled_from([1, 2, None]), max_size=2)}),
    max_size=2,
)


@settings(deadline=None)
@given(st.lists(st.tuples(NESTED, NESTED), max_size=8))
def test_nested_values_against_python(pairs: list[tuple[object, object]]) -> None:
    kind = pa.list_(PAIR)
    before = pa.table({"v": pa.array([left for left, _ in pairs], kind)})
    after = pa.table({"v": pa.array([right for _, right in pairs], kind)})
    assert same_rows(before, after).to_pylist() == [bits(left) == bits(right) for left, right in pairs]
