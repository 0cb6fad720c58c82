"""A batch of 64-bit integers from whatever holds one, without NULLs, and its exact sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import InvalidChange

_ROWS = 2**30
"""The sum of this number of halves of at most 33 bits still fits 64 bits."""


def int64_values(values: Any) -> npt.NDArray[np.int64]:
    """The values of a NumPy array, an Arrow array or a sequence; NULLs are left out."""
    if isinstance(values, np.ndarray) and values.dtype == np.int64:
        return values
    try:
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        if pa.types.is_null(column.type):
            return np.empty(0, np.int64)
        if not pa.types.is_integer(column.type):
            raise _not_integers(str(column.type))
        whole: npt.NDArray[np.int64] = column.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise _not_integers(str(error).split("\n", 1)[0]) from error
    return whole


def exact_sum(values: npt.NDArray[np.int64]) -> int:
    """The sum as a Python integer, whatever its size."""
    if not len(values):
        return 0
    largest = max(abs(int(values.min())), abs(int(values.max())))
    if largest * len(values) < 2**63:
        return int(values.sum())
    parts = (values[at : at + _ROWS] for at in range(0, len(values), _ROWS))
    return sum((int((part >> 32).sum()) << 32) + int((part & 0xFFFFFFFF).sum()) for part in parts)


def _not_integers(found: str) -> InvalidChange:
    return InvalidChange(
        what=f"an aggregate of {found}",
        why="these aggregates take 64-bit integers",
        fix="Scale the values to integers, or let the stream table aggregate them in SQL.",
    )
