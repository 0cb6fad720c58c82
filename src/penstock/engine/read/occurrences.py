"""Which rows have one of many values in a column, file by file.

    occurrences(columns, values)[n][i]  =  columns[n][i] is among the values, NULL among them if it is

Whole numbers, days and moments are looked up by value: in a file that is sorted, the values are searched for in the
file, which takes next to no time; else the file is held against only those values that lie within its range. Other
types go through one hash table of all values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def occurrences(columns: Sequence[pa.Array], values: pa.Array) -> list[pa.Array]:
    """For each column, which of its rows have one of the values; all are of one type."""
    numbers = _numbers(values.drop_null())
    if numbers is None:
        return _hashed(columns, values)
    ordered = np.unique(numbers)
    return [_here(column, ordered, values) for column in columns]


def _hashed(columns: Sequence[pa.Array], values: pa.Array) -> list[pa.Array]:
    # One call for all, because it makes a hash table of the values first.
    here = pc.is_in(pa.chunked_array(columns, type=values.type), value_set=values).combine_chunks()
    starts = np.cumsum([0, *map(len, columns)])
    return [here.slice(start, len(column)) for start, column in zip(starts, columns, strict=False)]


def _here(column: pa.Array, ordered: NDArray[np.int64], values: pa.Array) -> pa.Array:
    held = _numbers(column) if column.null_count == 0 else None
    if held is None:
        return pc.is_in(column, value_set=values)
    if not len(held):
        return pa.array([], pa.bool_())
    if (held[1:] < held[:-1]).any():
        near = _between(ordered, held.min(), held.max())
        return pc.is_in(pa.array(held), value_set=pa.array(near))
    near = _between(ordered, held[0], held[-1])
    first, last = np.searchsorted(held, near), np.searchsorted(held, near, side="right")
    there = first < last
    edges = np.zeros(len(held) + 1, np.int8)
    edges[first[there]] += 1
    edges[last[there]] -= 1
    return pa.array(np.cumsum(edges[:-1], dtype=np.int8).astype(bool))


def _between(ordered: NDArray[np.int64], low: np.int64, high: np.int64) -> NDArray[np.int64]:
    return ordered[np.searchsorted(ordered, low) : np.searchsorted(ordered, high, side="right")]


def _numbers(array: pa.Array) -> NDArray[np.int64] | None:
    """The values as whole numbers; None if they are something else."""
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        array = array.view(pa.int64())
    elif not pa.types.is_signed_integer(kind):
        return None
    numbers: NDArray[np.int64] = array.to_numpy()
    return numbers
