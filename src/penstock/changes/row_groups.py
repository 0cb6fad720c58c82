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
    """Each measure (one number per row, and how to join them: sum, min, max) per group of equal `columns`."""
    keys = {f"k{at}": _comparable(rows.column(column)) for at, column in enumerate(columns)}
    numbers = {f"m{at}": pa.array(values) for at, (values, _) in enumerate(measures.values())}
    # Threads would change the order of groups from run to run.
    found = pa.table(keys | numbers).group_by(list(keys), use_threads=False)
    how = [(f"m{at}", joined) for at, (_, joined) in enumerate(measures.values())]
    result = found.aggregate(how)
    return {
        name: result.column(f"m{at}_{joined}").to_numpy().astype(np.int64)
        for at, (name, (_, joined)) in enumerate(measures.items())
    }


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Arrow does not group nested values; their binary form is grouped in their place."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.array([None if value is None else msgspec.msgpack.encode(value) for value in column.to_pylist()])
