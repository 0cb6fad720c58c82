"""Rows of a table sorted into groups of equal values.

Values are equal if they are the same to the bit; NULL equals NULL. Groups come in the order of their first row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa


def grouped(
    rows: pa.Table, columns: Sequence[str], measures: Mapping[str, tuple[npt.NDArray[np.int64], str]]
) -> dict[str, npt.NDArray[np.int64]]:
    """Each measure (one number per row, and how to join them: sum or max) per group of equal `columns`.

    `first`, the number of the group's first row, is there without asking.
    """
    every = {"first": (np.arange(rows.num_rows), "min"), **measures}
    keys = {f"key_{at}": _comparable(rows.column(column)) for at, column in enumerate(columns)}
    numbers = {name: pa.array(values, pa.int64()) for name, (values, _) in every.items()}
    found = pa.table(keys | numbers).group_by(list(keys), use_threads=False)
    result = found.aggregate([(name, how) for name, (_, how) in every.items()])
    joined = {name: result.column(f"{name}_{how}").to_numpy() for name, (_, how) in every.items()}
    # Arrow gives groups in an order of its own.
    order = np.argsort(joined["first"])
    return {name: values[order] for name, values in joined.items()}


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Arrow does not group nested values; their binary form is grouped in their place."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.array([None if value is None else msgspec.msgpack.encode(value) for value in column.to_pylist()])
