"""Which files can hold a row with one of the touched keys: conservative, so that a wrong answer can only cost time.

A file is skipped only if some key column proves it: the statistics are there, of a type whose statistics can be
trusted from any writer, and the touched range lies outside. Trusted are integers, DATE, binary STRING, TIMESTAMP
(with the millisecond that writers cut off given back), and DECIMAL up to 15 digits; partition values are exact.
FLOAT and DOUBLE leave NaN out of their bounds, longer decimals pass through doubles: never used. A touched NULL key
keeps every file whose null count is not known to be 0.

Touched values are kept as spans: single values if they are few, else neighbours taken together, so that keys far apart
do not keep the files between them. The same spans become a filter on the rows, which Spark pushes into the Parquet
scan: row groups are skipped, and what remains of a file is cut down before it is joined.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
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

from penstock.engine.delta.log_entry import STATISTICS_STEP, DataFile
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.sql_literals import literal
from penstock.names import quote

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)

SPANS = 1024
"""The most spans; more touched values than that are taken together with their neighbours."""

LISTED = 64
"""Up to this many single values are listed in the filter on rows; beyond, it has the ends of their range only."""

WORTH_FILES = 4
WORTH_ROWS = 50_000
"""A table of fewer files or rows is read as fast as the keys that would spare some of it are collected."""

WORTH_SHARE = 0.5
"""Keys are worth collecting if one value rules out at least this share of the files."""

_PROBES, _SAMPLE = 8, 256


@dataclass(frozen=True, slots=True)
class Range:
    """The touched values of one column: `low` and `high` of the non-NULL ones (None if there are none)."""

    low: Any
    high: Any
    has_null: bool = False
    spans: tuple[tuple[Any, Any], ...] = field(default=(), compare=False)
    """Where between `low` and `high` the values lie: ascending, apart from each other. Empty if it is not known."""

    @property
    def has_values(self) -> bool:
        """True if some touched value is not NULL."""
        return self.low is not None

    @property
    def pieces(self) -> tuple[tuple[Any, Any], ...]:
        """The spans, or the whole range as one."""
        return self.spans or (((self.low, self.high),) if self.has_values else ())

    def meet(self, other: Range) -> Range:
        """What lies in both."""
        spans = []
        mine, theirs = list(self.pieces), list(other.pieces)
        while mine and theirs:
            low, high = max(mine[0][0], theirs[0][0]), min(mine[0][1], theirs[0][1])
            if low <= high:
                spans.append((low, high))
            # The one that ends first cannot meet anything further on.
            (mine if mine[0][1] <= theirs[0][1] else theirs).pop(0)
        ends = (spans[0][0], spans[-1][1]) if spans else (None, None)
        return Range(ends[0], ends[1], self.has_null and other.has_null, tuple(spans))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Column → touched range. Every column must match, so any one of them can rule a file out."""

    columns: Mapping[str, Range] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.columns)

    def meet(self, other: Bounds) -> Bounds:
        """Both bounds at once."""
        columns = dict(self.columns)
        for name, touched in other.columns.items():
            columns[name] = columns[name].meet(touched) if name in columns else touched
        return Bounds(columns)


def prunable(kind: DataType) -> bool:
    """True if statistics of this type can be trusted, no matter which writer made them."""
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
        spans = _spans(values)
        low, high = (spans[0][0], spans[-1][1]) if spans else (None, None)
        ranges[column] = Range(low, high, null_safe and values.null_count > 0, spans)
    return Bounds(ranges)


def _spans(values: pa.ChunkedArray) -> tuple[tuple[Any, Any], ...]:
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        # Python compares times of one zone by the clock on the wall, which goes back once a year.
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    distinct = pc.unique(values).drop_null()
    count = len(distinct)
    if not count:
        return ()
    ordered = distinct.take(pc.array_sort_indices(distinct))
    step = -(-count // SPANS)
    firsts = pa.array(range(0, count, step))
    lasts = pa.array([min(first + step, count) - 1 for first in range(0, count, step)])
    return tuple(zip(ordered.take(firsts).to_pylist(), ordered.take(lasts).to_pylist(), strict=True))


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


def row_filter(bounds: Bounds | None, schema: StructType) -> str:
    """SQL that holds for every row within the bounds, over the columns of `schema`; empty if there is none to write."""
    fields = {column.name.lower(): column for column in schema.fields}
    terms = []
    for name, touched in (bounds or Bounds()).columns.items():
        column = fields.get(name.lower())
        if column is not None and prunable(column.dataType):
            terms.append(_row_filter(quote(column.name), touched, column.dataType))
    return " AND ".join(term for term in terms if term)


def _row_filter(column: str, touched: Range, kind: DataType) -> str:
    missing = f"{column} IS NULL" if touched.has_null else ""
    if not touched.has_values:
        return f"({missing or 'FALSE'})"
    pieces = touched.pieces
    if isinstance(kind, TimestampType | TimestampNTZType) or len(pieces) > LISTED or any(a != b for a, b in pieces):
        ends = _ends(touched, kind)
        if ends is None:
            return ""
        found = f"({column} >= {ends[0]} AND {column} <= {ends[1]})"
    else:
        listed = [_literal(value, kind) for value, _ in pieces]
        if None in listed:
            return ""
        found = f"{column} IN ({', '.join(map(str, listed))})"
    return f"({found} OR {missing})" if missing else f"({found})"


def _ends(touched: Range, kind: DataType) -> tuple[str, str] | None:
    low, high = touched.low, touched.high
    if isinstance(low, datetime):
        # Delta's own reader may compare these with statistics that were cut off.
        try:
            low, high = low - STATISTICS_STEP, high + STATISTICS_STEP
        except OverflowError:
            return None
    texts = _literal(low, kind), _literal(high, kind)
    return (texts[0], texts[1]) if texts[0] is not None and texts[1] is not None else None


def _literal(value: Any, kind: DataType) -> str | None:
    if _wanted(value, kind) is None:
        return None
    if isinstance(kind, TimestampType):
        value = value.astimezone(UTC)
    if isinstance(kind, DecimalType):
        value = Decimal(value)
        if value.as_tuple().exponent < -kind.scale or abs(value) >= Decimal(10) ** (kind.precision - kind.scale):
            return None
    return literal(value, kind.jsonValue(), "spark")


def prunes_well(snapshot: Snapshot, name: str) -> bool:
    """True if collecting touched values of a column is likely to spare a good part of a large table.

    Large means several files and many rows. Pruning pays if a value that occurs in the table lies within few files'
    ranges; in a table that is not in the column's order, all files cover the same range.
    """
    rows = snapshot.rows
    if len(snapshot.files) < WORTH_FILES or (rows is not None and rows < WORTH_ROWS):
        return False
    share = share_touched(snapshot, [name])
    return share is not None and share <= 1 - WORTH_SHARE


def share_touched(snapshot: Snapshot, names: Sequence[str]) -> float | None:
    """The share of the files whose ranges hold one key of these columns, on average.

    Judged by a sample, from the log alone; None if it is not known: no file, no statistics, no type to trust.
    """
    fields = {each.name.lower(): each for each in snapshot.schema.fields}
    columns = [fields[name.lower()] for name in names if name.lower() in fields]
    columns = [column for column in columns if prunable(column.dataType)]
    if not columns or not snapshot.files:
        return None
    sample = snapshot.files[:: -(-len(snapshot.files) // _SAMPLE)]
    covered = [[_covered(file, column.name, column.dataType) for column in columns] for file in sample]
    known = [[span for span in spans if span is not None] for spans in covered if None not in spans]
    bounds = [sorted(bound for spans in known for bound in spans[at]) for at in range(len(columns))]
    probes = [
        [_amid(span, held) for span, held in zip(spans, bounds, strict=True)]
        for spans in known[:: -(-len(known) // _PROBES) or 1]
    ]
    if not probes:
        return None
    hits = sum(
        all(span is None or span[0] <= value <= span[1] for span, value in zip(spans, probe, strict=True))
        for probe in probes
        for spans in covered
    )
    return hits / (len(probes) * len(sample))


def _amid(span: tuple[Any, Any], bounds: Sequence[Any]) -> Any:
    """A value well within a file's range: the middle one of all files' bounds that lie there.

    An end of the range would not do: where all files cover the same values, half of them begin after it.
    """
    return bounds[(bisect_left(bounds, span[0]) + bisect_right(bounds, span[1])) // 2 - 1]


def _covered(file: DataFile, name: str, kind: DataType) -> tuple[Any, Any] | None:
    """The range of a file's values, if it is known."""
    if name in file.partition:
        raw = file.partition[name]
        value = None if isinstance(kind, TimestampType | TimestampNTZType) else _value(raw or None, kind)
        return None if value is None else (value, value)
    low, high = _value(file.stats.low.get(name), kind), _value(file.stats.high.get(name), kind)
    return None if low is None or high is None else (low, high)


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
            low, high = low - STATISTICS_STEP, high + STATISTICS_STEP
        except OverflowError:
            return True
    return _overlap(low, high, touched, kind)


def _overlap(low: Any, high: Any, touched: Range, kind: DataType) -> bool:
    if not touched.has_values:
        return False
    if _wanted(touched.low, kind) is None or _wanted(touched.high, kind) is None:
        return True
    pieces = touched.pieces
    at = bisect_left(pieces, low, key=lambda piece: _wanted(piece[1], kind))
    return at < len(pieces) and bool(_wanted(pieces[at][0], kind) <= high)


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
