"""Which files can hold a row with one of the touched keys: conservative, so that a wrong answer can only cost time.

A file is skipped only if some key column proves it: the statistics are there, of a type whose statistics can be
trusted from any writer, and the touched range lies outside. Trusted are integers, DATE, binary STRING, TIMESTAMP
(with the millisecond that writers cut off given back), and DECIMAL up to 15 digits; partition values are exact.
FLOAT and DOUBLE leave NaN out of their bounds, longer decimals pass through doubles: never used. A touched NULL key
keeps every file whose null count is not known to be 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.engine.delta_log import DataFile

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_CUT_OFF = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Range:
    """The touched values of one column: `low` and `high` of the non-NULL ones (None if there are none)."""

    low: Any
    high: Any
    has_null: bool = False

    @property
    def has_values(self) -> bool:
        """True if some touched value is not NULL."""
        return self.low is not None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Column → touched range. Every column must match, so any one of them can rule a file out."""

    columns: Mapping[str, Range] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.columns)


def prunable(kind: DataType) -> bool:
    """True if statistics of this type can be trusted, whoever wrote them."""
    match kind:
        case DecimalType():
            return kind.precision <= 15
        case StringType():
            return type(kind) is StringType and kind.simpleString() == "string"
    return isinstance(kind, (*_INTEGERS, DateType, TimestampType, TimestampNTZType))


def bounds_of(table: pa.Table, mapping: Mapping[str, str], null_safe: bool = True) -> Bounds:
    """The ranges of touched keys: `mapping` names, per source column, the column of `table` that holds its keys.

    With `null_safe=False` a NULL key matches nothing (plain `=`), so it keeps no file. Column types that cannot be
    pruned by are left out.
    """
    ranges = {}
    for column, key in mapping.items():
        values = table.column(key)
        if not _comparable(values.type):
            continue
        ends = pc.min_max(values)
        has_null = null_safe and values.null_count > 0
        low, high = ends["min"].as_py(), ends["max"].as_py()
        ranges[column] = Range(low, high, has_null)
    return Bounds(ranges)


def keep_file(file: DataFile, bounds: Bounds, schema: StructType) -> bool:
    """False only if the file certainly holds no row whose keys lie within all the bounds."""
    fields = {column.name.lower(): column for column in schema.fields}
    for name, touched in bounds.columns.items():
        column = fields.get(name.lower())
        if column is None or not prunable(column.dataType):
            continue
        if column.name in file.partition:
            kept = _partition_matches(file.partition[column.name], touched, column.dataType)
        else:
            kept = _statistics_allow(file, column.name, touched, column.dataType)
        if not kept:
            return False
    return True


def prune(files: Iterable[DataFile], bounds: Bounds | None, schema: StructType) -> tuple[DataFile, ...]:
    """The files that may hold a touched row."""
    if not bounds:
        return tuple(files)
    return tuple(file for file in files if keep_file(file, bounds, schema))


def _partition_matches(raw: str | None, touched: Range, kind: DataType) -> bool:
    # Delta writes an empty string for NULL too.
    if raw is None or raw == "":
        return touched.has_null
    if isinstance(kind, TimestampType | TimestampNTZType):
        # The text may be in the writer's time zone.
        return True
    value = _value(raw, kind)
    return value is None or _overlap(value, value, touched, kind)


def _statistics_allow(file: DataFile, name: str, touched: Range, kind: DataType) -> bool:
    stats = file.stats
    if touched.has_null:
        nulls = stats.nulls.get(name)
        if not isinstance(nulls, int) or nulls > 0:
            return True
    if not touched.has_values:
        return False
    nulls = stats.nulls.get(name)
    if stats.rows is not None and isinstance(nulls, int) and nulls == stats.rows:
        return False
    low, high = _value(stats.low.get(name), kind), _value(stats.high.get(name), kind)
    if low is None or high is None:
        return True
    if isinstance(kind, TimestampType | TimestampNTZType):
        try:
            low, high = low - _CUT_OFF, high + _CUT_OFF
        except OverflowError:
            return True
    return _overlap(low, high, touched, kind)


def _overlap(low: Any, high: Any, touched: Range, kind: DataType) -> bool:
    if not touched.has_values:
        return False
    wanted_low, wanted_high = _wanted(touched.low, kind), _wanted(touched.high, kind)
    if wanted_low is None or wanted_high is None:
        return True
    return bool(low <= wanted_high and wanted_low <= high)


def _value(raw: Any, kind: DataType) -> Any:
    """A bound as the log writes it, comparable with others of its type; None if it cannot be trusted."""
    if raw is None:
        return None
    try:
        match kind:
            case DecimalType():
                return Decimal(str(raw))
            case DateType():
                return date.fromisoformat(raw)
            case TimestampType() | TimestampNTZType():
                moment = datetime.fromisoformat(raw)
                return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
            case StringType():
                # Spark orders strings by their UTF-8 bytes.
                return raw.encode() if isinstance(raw, str) else None
        return int(raw)
    except (ValueError, TypeError, OverflowError, InvalidOperation):
        return None


def _wanted(value: Any, kind: DataType) -> Any:
    """A touched value in the form of `_value`; None if it is of another type."""
    match kind:
        case DecimalType():
            return Decimal(value) if isinstance(value, Decimal | int) else None
        case DateType():
            return value if isinstance(value, date) and not isinstance(value, datetime) else None
        case TimestampType() | TimestampNTZType():
            if not isinstance(value, datetime) or (value.tzinfo is None) != isinstance(kind, TimestampNTZType):
                return None
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        case StringType():
            return value.encode() if isinstance(value, str) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _comparable(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )
