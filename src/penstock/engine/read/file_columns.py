"""Columns of Parquet files as Arrow, kept by their bytes because a data file never changes.

    column(file, name)  =  what Spark reads there, or None;  rows that a deletion vector hides are among them
    live(file)          =  which of these rows count, or None if all do

None stands for all that is not known to be the same in Arrow and in Spark: other types than those below, a column
stored as another type, dates in the calendars of old. Changes of intervals are kept in the same place: stream tables
that read one interval of one table read its files once and net its rows once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
)

from penstock.engine.delta.log_entry import DataFile
from penstock.engine.delta.log_storage import local_path
from penstock.recently_used import RecentlyUsed

HELD_SHARE = 16
"""Columns and changes are kept for the next reader in this part of the machine's memory, within the next two bounds."""

HELD_LEAST, HELD_MOST = 256 * 1024**2, 2 * 1024**3

_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")

IDLE = 120.0
"""Seconds without use after which values are dropped: mostly of files that are no longer part of any table."""

MODERN = date(1900, 1, 1)
"""From here on Spark and Arrow count days alike."""

_OLD_CALENDARS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_PLAIN: Mapping[type[DataType], pa.DataType] = {
    BooleanType: pa.bool_(),
    ByteType: pa.int8(),
    ShortType: pa.int16(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    BinaryType: pa.binary(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us", "UTC"),
    TimestampNTZType: pa.timestamp("us"),
}
_SPELLINGS: Mapping[pa.DataType, pa.DataType] = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
"""Other forms in memory of the same Parquet types, which writers such as delta-rs note down for readers."""


class FileColumns:
    """What was read of files and changes, the most recently used of it kept."""

    def __init__(self, limit: int | None = None, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._held: RecentlyUsed[object, Any] = RecentlyUsed(
            _room() if limit is None else limit, lambda arrow: int(arrow.nbytes), idle=IDLE, stopwatch=stopwatch
        )

    def changes(self, key: object, read: Callable[[], pa.Table | None]) -> pa.Table | None:
        """The change rows that were read under a key before, else those that `read` returns."""
        rows = self._held.get(key)
        if rows is None:
            rows = read()
            if rows is not None:
                self._held.put(key, rows)
        return rows

    def of(self, file: DataFile, fields: Sequence[StructField]) -> dict[str, pa.Array] | None:
        """The named columns of a file; a column that it lacks is NULL. None if Spark has to read it."""
        held = {field.name: self._held.get((file.path, field.name)) for field in fields}
        found = {name: array for name, array in held.items() if array is not None}
        missing = [field for field in fields if field.name not in found]
        if not missing and fields:
            return found
        read = _read(file, missing)
        if read is None:
            return None
        for name, array in read.items():
            self._held.put((file.path, name), array)
        return {**found, **read}

    def live(self, root: str, file: DataFile) -> pa.Array | None:
        """Which rows of a file its deletion vector leaves, in a table at a root; None if it has no vector.

        OSError or ValueError if the vector cannot be read.
        """
        vector = file.deletion_vector
        if vector is None:
            return None
        rows = file.stats.rows
        if rows is None:
            raise ValueError(f"{file.name} has a deletion vector and no number of rows")
        key = (file.path, vector)
        mask = self._held.get(key)
        if mask is None:
            mask = pa.array(vector.alive(root, rows))
            self._held.put(key, mask)
        return mask


def _room() -> int:
    """Bytes for what is kept: a share of the memory of the machine, or of the container that we are in."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        memory = min(memory, int(_CONTAINER_LIMIT.read_text()))
    return min(HELD_MOST, max(HELD_LEAST, memory // HELD_SHARE))


def _read(file: DataFile, fields: Sequence[StructField]) -> dict[str, pa.Array] | None:
    path = local_path(file.path)
    if path is None:
        return None
    try:
        return _columns(pq.ParquetFile(path, coerce_int96_timestamp_unit="us"), fields)
    except (OSError, pa.ArrowException):
        # Missing, damaged, or of a kind that Arrow does not know: Spark's reader has the last word, and the error.
        return None


def _columns(parquet: pq.ParquetFile, fields: Sequence[StructField]) -> dict[str, pa.Array] | None:
    facts = parquet.metadata.metadata or {}
    if any(old in facts for old in _OLD_CALENDARS):
        return None
    by_name: dict[str, int] = {}
    for place, name in enumerate(parquet.schema_arrow.names):
        if name.lower() in by_name or "." in name:
            return None
        by_name[name.lower()] = place
    # Places among the leaves are places among the columns only if no column has parts.
    if len(parquet.schema) != len(parquet.schema_arrow.names):
        return None
    there = [field for field in fields if field.name.lower() in by_name]
    read = parquet.read(columns=[parquet.schema_arrow.names[by_name[field.name.lower()]] for field in there])
    arrays: dict[str, pa.Array] = {}
    for field in fields:
        kind = arrow_type(field.dataType)
        if field not in there:
            arrays[field.name] = pa.nulls(parquet.metadata.num_rows, kind)
            continue
        place = by_name[field.name.lower()]
        array = read.column(parquet.schema_arrow.names[place])
        whole = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if isinstance(field.dataType, TimestampType) and parquet.schema.column(place).physical_type == "INT96":
            whole = whole.cast(pa.timestamp("us", "UTC"))
        if whole.type in _SPELLINGS:
            whole = whole.cast(_SPELLINGS[whole.type])
        if whole.type != kind or _ancient(whole):
            return None
        arrays[field.name] = whole
    return arrays


def _ancient(array: pa.Array) -> bool:
    """True if a date lies where Spark and Arrow might count the days differently."""
    if not (pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)):
        return False
    first = pc.min(array.cast(pa.date32()) if pa.types.is_timestamp(array.type) else array).as_py()
    return first is not None and first < MODERN


def arrow_type(kind: DataType) -> pa.DataType | None:
    """The type that values have in Arrow; None if they are for Spark to read."""
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, StringType):
        return pa.string() if type(kind) is StringType and kind.simpleString() == "string" else None
    return _PLAIN.get(type(kind))
