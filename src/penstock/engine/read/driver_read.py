"""Small reads on the driver: Parquet files as Arrow tables, without a Spark job.

    rows of this module  =  rows of `scan` and `changes`, where it answers at all

A scan of a few files costs Spark more to plan and to schedule than to read. Here such files are read by Arrow
(`file_columns`), cut down to touched keys exactly, and handed to Spark as local relations whose size it knows. Anything
whose reading is not known to be the same in Arrow and in Spark is left to Spark, partition values of odd types too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from penstock.engine.delta.interval import ChangeSet, ChangeSetKind, Way
from penstock.engine.delta.log_entry import DataFile
from penstock.engine.delta.log_storage import local_path
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.file_columns import MODERN, FileColumns, arrow_type
from penstock.engine.read.net import net_table
from penstock.engine.read.occurrences import occurrences
from penstock.engine.read.pinned_files import SIGN
from penstock.engine.read.pruning import prunable
from penstock.engine.read.scan import CHANGE_SIGNS, CHANGE_TYPE
from penstock.names import WEIGHT

READ_ROWS = 12_000_000
"""The driver reads files of up to this many rows: their key columns, and the rest where a key occurs."""

READ_BYTES = 1024 * 1024 * 1024
"""And of up to this many bytes."""

READ_FILES = 512
"""And this many files at most, since it opens them one after the other."""

LOCAL_ROWS = 400_000
"""The most rows that go into a statement from the driver, as one task."""

READERS = 4
"""Files that are read at the same time."""

UNBOUNDED = 5_000
"""A table of fewer rows is read whole; of a larger one, only rows with touched keys."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Live rows of a version, and where they lie: of all there are, those that have the given values in the columns."""

    root: str
    version: int
    rows: pa.Table
    files: tuple[tuple[DataFile, NDArray[np.int64]], ...]
    """In the order of the rows: the files, and the positions of their rows."""
    within: tuple[tuple[str, pa.ChunkedArray], ...]
    """Column → values. Rows that have others are left out, or not."""


def whole(snapshot: Snapshot) -> bool:
    """True if a table is so small that it is read without asking for keys."""
    return snapshot.rows is not None and snapshot.rows < UNBOUNDED


def readable(snapshot: Snapshot) -> bool:
    """True if all files of a table may be read on the driver, as far as their number, size and place go."""
    return snapshot.fast_with_vectors and local_path(snapshot.root) is not None and _small(snapshot.files)


def rows_at(
    columns: FileColumns,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    fields: Sequence[StructField],
    keys: Iterable[tuple[str, pa.ChunkedArray]],
    visible_if: str | None = None,
    weight: str | None = None,
) -> pa.Table | None:
    """The rows of these files of a snapshot in which every key column has one of the given values.

    `visible_if` is a column that must be true; each row is repeated `weight` times. None if that is work for Spark.
    """
    extra = [StructField(name, kind) for name, kind in ((visible_if, BooleanType()), (weight, LongType())) if name]
    placed = placed_rows(columns, snapshot, files, [*fields, *extra], keys) if fields else None
    if placed is None:
        return None
    rows = placed.rows
    held = {name.lower() for name in snapshot.partition_columns}
    for name, values in placed.within:
        if name.lower() in held:
            rows = _with_values(rows, name, values)
    if visible_if is not None:
        rows = rows.filter(rows.column(visible_if))
    if weight is not None and pc.any(pc.not_equal(rows.column(weight), 1)).as_py():
        times = rows.column(weight).to_pylist()
        rows = rows.take(pa.array([place for place, count in enumerate(times) for _ in range(count)], pa.int64()))
    return rows.select([field.name for field in fields]) if rows.num_rows <= LOCAL_ROWS else None


def placed_rows(
    columns: FileColumns,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    fields: Sequence[StructField],
    keys: Iterable[tuple[str, pa.ChunkedArray]],
) -> Placed | None:
    """The live rows of these files that have one of the given values in every key column that is no partition's."""
    if not fields or not snapshot.fast_with_vectors or not _small(files):
        return None
    types = {field.name: field.dataType for field in fields}
    held = {name.lower() for name in snapshot.partition_columns}
    usable = tuple((name, values) for name, values in keys if name in types and prunable(types[name]))
    inside = [(name, values) for name, values in usable if name.lower() not in held]
    found = hits(columns, snapshot, files, types, inside)
    if found is None:
        return None
    chosen = [(file, 1, mask) for file, mask in found]
    rows = _concatenated(columns, chosen, fields, snapshot.schema, snapshot)
    if rows is None:
        return None
    places = tuple(
        (file, np.arange(file.stats.rows or 0) if mask is None else np.flatnonzero(mask)) for file, mask in found
    )
    return Placed(snapshot.root, snapshot.version, rows.drop_columns([SIGN]), places, usable)


def hits(
    columns: FileColumns,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    types: Mapping[str, DataType],
    keys: Sequence[tuple[str, pa.ChunkedArray]],
) -> list[tuple[DataFile, pa.Array | None]] | None:
    """The files in which a live row has one of the given values in every key column, and which of their rows do.

    None if one of them is for Spark, or if the rows would be too many.
    """
    try:
        masks = [columns.live(snapshot.root, file) for file in files]
    except (OSError, ValueError):
        return None
    known = {field.name.lower(): field.name for field in snapshot.schema.fields}
    for name, values in keys:
        field = StructField(known[name.lower()], types[name])
        with ThreadPoolExecutor(READERS) as readers:
            read = list(readers.map(lambda file, field=field: columns.of(file, [field]), files))
        arrays = [each[field.name] for each in read if each is not None]
        if len(arrays) < len(files):
            return None
        if not arrays:
            return []
        try:
            wanted = pc.unique(values).cast(arrays[0].type)
        except pa.ArrowException:
            continue
        for place, part in enumerate(occurrences(arrays, wanted)):
            mask = masks[place]
            masks[place] = part if mask is None else pc.and_(mask, part)
        # Leaving rows out only spares work, and hardly any is left to spare.
        if sum(mask.true_count for mask in masks if mask is not None) <= 2 * len(wanted):
            break
    found = [
        (file, mask)
        for file, mask in zip(files, masks, strict=True)
        if mask is None or pc.any(mask, min_count=0).as_py()
    ]
    count = sum(int(file.rows or 0) if mask is None else mask.true_count for file, mask in found)
    return found if count <= LOCAL_ROWS else None


def changed_rows(
    columns: FileColumns,
    change_set: ChangeSet,
    fields: Sequence[StructField],
    visible_if: str | None = None,
    weight: str | None = None,
) -> pa.Table | None:
    """The netted change rows of an interval with their weight, as `scan.changes` has them. None if Spark has to."""
    end = change_set.end
    named = tuple((field.name, field.dataType) for field in fields)
    key = (end.root, end.table_id, end.stamp, change_set.before, change_set.after, named, visible_if, weight)
    return columns.changes(key, lambda: _changed_rows(columns, change_set, fields, visible_if, weight))


def _changed_rows(
    columns: FileColumns,
    change_set: ChangeSet,
    fields: Sequence[StructField],
    visible_if: str | None,
    weight: str | None,
) -> pa.Table | None:
    parts = change_set.parts
    end = change_set.end
    if (
        change_set.kind is not ChangeSetKind.FILES
        or not fields
        or any(part.way not in {Way.COMMITS, Way.ENDS} for part in parts)
        or change_set.drift.added
        or change_set.start.partition_columns != end.partition_columns
        or change_set.rows_estimate > LOCAL_ROWS
        or not _small([file for part in parts for file in part.files])
    ):
        return None
    extra = [StructField(name, kind) for name, kind in ((visible_if, BooleanType()), (weight, LongType())) if name]
    asked = [*fields, *extra]
    try:
        signed = [
            (file, sign, columns.live(end.root, file))
            for part in parts
            for files, sign in ((part.plus, 1), (part.minus, -1))
            for file in files
        ]
    except (OSError, ValueError):
        return None
    plain = _concatenated(columns, signed, asked, end.schema, end)
    kind = StructField(CHANGE_TYPE, StringType())
    schema = StructType([*end.schema.fields, kind])
    written = _concatenated(
        columns, [(file, 1, None) for part in parts for file in part.cdc], [*asked, kind], schema, end
    )
    if plain is None or written is None:
        return None
    kinds = written.column(CHANGE_TYPE)
    if not pc.all(pc.is_in(kinds, value_set=pa.array(CHANGE_SIGNS)), min_count=0).as_py():
        return None
    came = pc.is_in(kinds, value_set=pa.array([name for name, sign in CHANGE_SIGNS.items() if sign > 0]))
    signs = pc.if_else(came, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
    written = written.drop_columns([CHANGE_TYPE, SIGN]).append_column(SIGN, signs)
    rows = pa.concat_tables([plain, written])
    if visible_if is not None:
        rows = rows.filter(rows.column(visible_if))
    weights = rows.column(SIGN)
    if weight is not None:
        weights = pc.multiply(weights, rows.column(weight))
    rows = rows.select([field.name for field in fields]).append_column(WEIGHT, weights)
    return rows if change_set.insert_only else net_table(rows, fields)


def _small(files: Sequence[DataFile]) -> bool:
    if len(files) > READ_FILES:
        return False
    return sum(file.size for file in files) <= READ_BYTES and sum(file.rows or 0 for file in files) <= READ_ROWS


def _concatenated(
    columns: FileColumns,
    chosen: Sequence[tuple[DataFile, int, pa.Array | None]],
    fields: Sequence[StructField],
    schema: StructType,
    table: Snapshot,
) -> pa.Table | None:
    """The chosen rows of several files, with the sign of each beside; None if one of them is for Spark.

    A file comes with its sign and with which of its rows are chosen, if not all.
    """
    kinds = [arrow_type(field.dataType) for field in fields]
    known = {field.name.lower(): field for field in schema.fields}
    if any(kind is None for kind in kinds) or any(field.name.lower() not in known for field in fields):
        return None
    named = [StructField(known[field.name.lower()].name, field.dataType) for field in fields]
    partitions = {name.lower(): name for name in table.partition_columns}
    stored = [field for field in named if field.name.lower() not in partitions]
    target = pa.schema([*zip([field.name for field in fields], kinds, strict=True), (SIGN, pa.int64())])

    def read(file: DataFile, sign: int, mask: pa.Array | None) -> pa.Table | None:
        held = columns.of(file, stored)
        count = file.stats.rows
        if held is None or (not held and count is None):
            return None
        length = len(next(iter(held.values()))) if held else int(count or 0)
        places = None if mask is None else pa.array(np.flatnonzero(mask))
        chosen_length = length if places is None else len(places)
        arrays = []
        for field, kind in zip(named, kinds, strict=True):
            if field.name in held:
                arrays.append(held[field.name] if places is None else held[field.name].take(places))
                continue
            value = _partition_value(file.partition.get(partitions[field.name.lower()]), field.dataType)
            if value is None:
                return None
            arrays.append(pa.repeat(pa.scalar(value[0], kind), chosen_length))
        arrays.append(pa.repeat(pa.scalar(sign, pa.int64()), chosen_length))
        return pa.Table.from_arrays(arrays, schema=target)

    with ThreadPoolExecutor(READERS) as readers:
        tables = list(readers.map(read, *zip(*chosen, strict=True))) if chosen else []
    if any(each is None for each in tables):
        return None
    return pa.concat_tables(tables) if tables else target.empty_table()


def _partition_value(raw: str | None, kind: DataType) -> tuple[Any] | None:
    """The value of a partition column, in a tuple; None if its text is for Spark to read."""
    if raw is None or raw == "":
        return (None,)
    if isinstance(kind, StringType):
        return (raw,)
    try:
        if isinstance(kind, ByteType | ShortType | IntegerType | LongType):
            return (int(raw),)
        if isinstance(kind, DateType) and (day := date.fromisoformat(raw)) >= MODERN:
            return (day,)
    except ValueError:
        return None
    return None


def _with_values(rows: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    column = rows.column(name)
    try:
        wanted = pc.unique(values).cast(column.type)
    except pa.ArrowException:
        return rows
    return rows.filter(pc.is_in(column, value_set=wanted))
