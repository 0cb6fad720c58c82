"""Where the rows lie that a change takes away: file by file, position by position, on the driver.

    found(change)  =  every live row whose key is that of a row of the change, NULLs equal to NULLs

Files are ruled out by their statistics first, then by one key column after the other; what is left is compared exactly.
There is one zero and one NaN, as in a merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.engine.delta.deletion_vector import Places
from penstock.engine.delta.log_entry import DataFile
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.driver_read import Placed, placed_rows
from penstock.engine.read.file_columns import FileColumns, arrow_type
from penstock.engine.read.pruning import bounds_of, prunable, prune

_ROOM = 2**62
"""Codes of several columns fit one number up to here."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a table, in the order of its files and of their positions."""

    files: tuple[tuple[DataFile, Places], ...]
    """Only files that have such rows."""
    rows: pa.Table
    """What the rows hold, in all columns."""
    matches: NDArray[np.int64]
    """For each of them, the row of the change that has its key."""

    @property
    def bytes(self) -> int:
        """Of the files that a rewrite would write anew."""
        return sum(file.size for file, _ in self.files)


def find_rows(
    columns: FileColumns, snapshot: Snapshot, wanted: pa.Table, key: Sequence[str], near: Placed | None = None
) -> Found | None:
    """The live rows that have the key of a row of `wanted`, which has each key once; None if a merge has to find them.

    `near` are rows that were placed before: if these must be among them, no file is looked into again.
    """
    kinds = {field.name: arrow_type(field.dataType) for field in snapshot.schema.fields}
    if not key or None in kinds.values() or snapshot.partition_columns:
        return None
    placed = (
        near if near is not None and _holds(near, snapshot, wanted, key) else _placed(columns, snapshot, wanted, key)
    )
    # Without a count of the rows of a file, it is not known when all of them are gone.
    if placed is None or any(file.stats.rows is None for file, _ in placed.files):
        return None
    rows = placed.rows.select(list(kinds))
    codes = _codes([(rows.column(name), wanted.column(name).cast(kinds[name])) for name in key])
    here, there = codes[: rows.num_rows], codes[rows.num_rows :]
    if not len(there):
        return _only(placed, rows, np.zeros(len(here), np.int64), np.zeros(len(here), bool))
    order = np.argsort(there)
    at = np.searchsorted(there, here, sorter=order)
    matches = order[np.where(at < len(there), at, 0)]
    return _only(placed, rows, matches, there[matches] == here)


def _placed(columns: FileColumns, snapshot: Snapshot, wanted: pa.Table, key: Sequence[str]) -> Placed | None:
    types = {field.name: field.dataType for field in snapshot.schema.fields}
    known = [name for name in key if prunable(types[name])]
    files = prune(snapshot.files, bounds_of(wanted, {name: name for name in known}), snapshot.schema)
    keys = [(name, wanted.column(name)) for name in known]
    return placed_rows(columns, snapshot, files, snapshot.schema.fields, keys)


def _holds(near: Placed, snapshot: Snapshot, wanted: pa.Table, key: Sequence[str]) -> bool:
    """True if every row with one of the wanted keys must be among the placed ones, and with all its columns."""
    if (near.root, near.version) != (snapshot.root, snapshot.version):
        return False
    if not set(snapshot.schema.names) <= set(near.rows.column_names):
        return False
    for name, values in near.within:
        if name not in key:
            return False
        asked = wanted.column(name).cast(values.type)
        if not pc.all(pc.is_in(asked, value_set=pc.unique(values)), min_count=0).as_py():
            return False
    return True


def _only(placed: Placed, rows: pa.Table, matches: NDArray[np.int64], same: NDArray[np.bool_]) -> Found:
    kept: list[tuple[DataFile, Places]] = []
    start = 0
    for file, places in placed.files:
        own = places[same[start : start + len(places)]]
        start += len(places)
        if len(own):
            kept.append((file, own))
    return Found(tuple(kept), rows.take(pa.array(np.flatnonzero(same))), matches[same])


def _codes(columns: Sequence[tuple[pa.ChunkedArray, pa.ChunkedArray]]) -> NDArray[np.int64]:
    """A number for each row of both sides: equal where all columns are, NULL equal to NULL."""
    codes: NDArray[np.int64] | None = None
    room = 1
    for one, other in columns:
        both = pa.chunked_array([*one.chunks, *other.chunks], type=one.type).combine_chunks()
        if pa.types.is_floating(both.type):
            both = pc.if_else(
                pc.is_nan(both), pa.scalar(float("nan"), both.type), pc.add(both, pa.scalar(0, both.type))
            )
        encoded = both.dictionary_encode(null_encoding="encode")
        size = max(1, len(encoded.dictionary))
        own = encoded.indices.to_numpy().astype(np.int64)
        if codes is not None and room * size > _ROOM:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            room = len(codes) + 1
        codes, room = (own, size) if codes is None else (codes * size + own, room * size)
    assert codes is not None
    return codes
