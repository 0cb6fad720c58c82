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

from penstock.engine.deletion_vector import Places
from penstock.engine.delta_log import DataFile, Snapshot
from penstock.engine.driver_read import hits
from penstock.engine.file_columns import FileColumns, arrow_type
from penstock.engine.pruning import bounds_of, prunable, prune

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


def find_rows(columns: FileColumns, snapshot: Snapshot, wanted: pa.Table, key: Sequence[str]) -> Found | None:
    """The live rows that have the key of a row of `wanted`, which has each key once; None if that is not for us."""
    fields = snapshot.schema.fields
    types = {field.name: field.dataType for field in fields}
    kinds = {field.name: arrow_type(field.dataType) for field in fields}
    if not key or None in kinds.values() or snapshot.partition_columns or not snapshot.fast_with_vectors:
        return None
    known = [name for name in key if prunable(types[name])]
    files = prune(snapshot.files, bounds_of(wanted, {name: name for name in known}), snapshot.schema)
    chosen = hits(columns, snapshot, files, types, [(name, wanted.column(name)) for name in known])
    if chosen is None:
        return None
    target = pa.schema([(name, kind) for name, kind in kinds.items()])
    parts: list[tuple[DataFile, Places]] = []
    tables = [target.empty_table()]
    for file, mask in chosen:
        held = columns.of(file, fields)
        if held is None:
            return None
        length = len(held[fields[0].name])
        places = np.arange(length) if mask is None else np.flatnonzero(mask)
        taken = pa.array(places)
        parts.append((file, places))
        tables.append(pa.Table.from_arrays([held[field.name].take(taken) for field in fields], schema=target))
    rows = pa.concat_tables(tables)
    codes = _codes([(rows.column(name), wanted.column(name).cast(kinds[name])) for name in key])
    here, there = codes[: rows.num_rows], codes[rows.num_rows :]
    order = np.argsort(there)
    at = np.searchsorted(there, here, sorter=order)
    at = np.where(at < len(there), at, 0)
    matches = order[at] if len(there) else np.zeros(len(here), np.int64)
    same = there[matches] == here if len(there) else np.zeros(len(here), bool)
    return _only(parts, rows, matches, same)


def _only(
    parts: Sequence[tuple[DataFile, Places]], rows: pa.Table, matches: NDArray[np.int64], same: NDArray[np.bool_]
) -> Found:
    kept: list[tuple[DataFile, Places]] = []
    start = 0
    for file, places in parts:
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
