"""Snapshots and change sets as DataFrames.

A pinned scan hands Spark exactly the Parquet files of one version, with the schema spelled out and the partition
values taken from the log as typed literals; folders are never looked at. Where plain Parquet is not the table
(`Snapshot.slow_because`, `ChangeSet.reader_because`) Delta's own reader gives the same rows.

Changes are netted by bits before anyone sees them: two rows cancel only if every value is the same, the sign of zero
included. Sessions that run these frames must carry `spark.refresh_conf.REFRESH_CONF`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.drift import bare, drift_affects
from penstock.engine.delta.interval import ChangeSet, Part, Way
from penstock.engine.delta.log_entry import DataFile
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.pruning import Bounds, prune, row_filter
from penstock.engine.spark.jvm import java
from penstock.errors import InternalError, SourceChanged
from penstock.names import WEIGHT, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

LITERAL_READS = 2
"""Up to this many combinations of sign and partition values are read one by one, their values as literals.

Measured with 2 / 10 / 60 combinations: one by one 0.2 / 0.7 / 4.3 s, by lookup 0.3 / 0.3 / 0.5 s.
"""

SIGN = "__ps_sign"
_FILE = "__ps_file"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
CHANGE_TYPE = "_change_type"
CHANGE_SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
"""What a row of a change file does to the table."""


def scan(spark: SparkSession, snapshot: Snapshot, columns: Sequence[str], bounds: Bounds | None = None) -> DataFrame:
    """The rows of the table at that version: these columns, in this order, named exactly so.

    `bounds` may drop files that hold no touched key, and rows of others; rows outside the bounds can remain.
    """
    fields = fields_of(snapshot.schema, columns)
    within = row_filter(bounds, StructType(fields))
    if not snapshot.fast:
        frame = _at_version(spark, snapshot.root, snapshot.version, fields)
    else:
        files = prune(snapshot.files, bounds, snapshot.schema)
        frames = _pinned(spark, [(file, 1) for file in files], fields, snapshot.schema, snapshot.partition_columns)
        frame = _union(spark, fields, [each.drop(SIGN) for each in frames])
    return frame.where(within) if within else frame


def changes(
    spark: SparkSession,
    log: DeltaLog,
    change_set: ChangeSet,
    columns: Sequence[str],
    weight_column: str | None = None,
    where: str | None = None,
) -> DataFrame:
    """What the interval did to these columns: one row per distinct row, with `__ps_weight` (never 0).

    Rows of an insert-only interval come as they are, each with its own weight. `weight_column` is a stored
    multiplicity that each physical row counts for; `where` selects physical rows and may use any column. VARIANT
    values cancel by type and JSON text; those whose type does not show it (arrays of mixed types) stay side by side.
    `SourceChanged` if one of the columns is not the same column at both ends.
    """
    used = _used(change_set.end.schema, columns, weight_column, where)
    check_columns(log, change_set, used)
    fields = fields_of(change_set.end.schema, used)
    frames = [frame for part in change_set.parts for frame in _part(spark, change_set, part, fields)]
    signed = _union(spark, [*fields, StructField(SIGN, LongType())], frames)
    if where is not None:
        signed = signed.where(where)
    weight = F.col(SIGN)
    if weight_column is not None:
        weight = weight * F.col(quote(weight_column)).cast("bigint")
    wanted = fields_of(change_set.end.schema, columns)
    weighted = signed.select(*(F.col(quote(field.name)) for field in wanted), weight.alias(WEIGHT))
    return weighted if change_set.insert_only else net(weighted, wanted)


def check_columns(log: DeltaLog, change_set: ChangeSet, used: Sequence[str]) -> None:
    """`SourceChanged` if one of the columns is not the same column at both ends."""
    if reason := drift_affects(replace(change_set.drift, loosened=()), used):
        raise SourceChanged(source=log.root, why=reason)


def net(frame: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    """Equal rows as one, weights summed, zeros dropped. Equal means every value the same, -0.0 apart from 0.0."""
    keys: list[Column] = []
    chosen: list[Column] = []
    kept: list[Column] = []
    for at, field in enumerate(fields):
        column, key = F.col(quote(field.name)), f"__ps_k{at}"
        match field.dataType:
            case DoubleType() | FloatType():
                # Grouping turns -0.0 into 0.0; the flag keeps them apart and brings the sign back.
                keys += [column.alias(key), (column.cast("string") == F.lit("-0.0")).alias(f"{key}_minus")]
                minus_zero = F.lit(-0.0).cast(field.dataType)
                chosen.append(F.when(F.col(f"{key}_minus"), minus_zero).otherwise(F.col(key)).alias(field.name))
            case VariantType():
                kind = F.schema_of_variant(column)
                text = F.to_json(F.struct(column.alias("v")))
                mixed = F.when(kind.contains("VARIANT"), F.monotonically_increasing_id())
                keys += [text.alias(f"{key}_text"), kind.alias(f"{key}_kind"), mixed.alias(f"{key}_row")]
                kept.append(F.any_value(column).alias(key))
                chosen.append(F.col(key).alias(field.name))
            case kind if _holds(kind, (VariantType,)):
                keys.append(F.monotonically_increasing_id().alias(f"{key}_row"))
                kept.append(F.any_value(column).alias(key))
                chosen.append(F.col(key).alias(field.name))
            case kind if _holds(kind, (DoubleType, FloatType)):
                keys += [column.alias(f"{key}_value"), column.cast("string").alias(f"{key}_text")]
                kept.append(F.any_value(column).alias(key))
                chosen.append(F.col(key).alias(field.name))
            case _:
                keys.append(column.alias(key))
                chosen.append(F.col(key).alias(field.name))
    grouped = frame.groupBy(*keys).agg(F.sum(F.col(WEIGHT)).alias(WEIGHT), *kept)
    return grouped.where(F.col(WEIGHT) != 0).select(*chosen, F.col(WEIGHT))


def _used(schema: StructType, columns: Sequence[str], weight_column: str | None, where: str | None) -> list[str]:
    """The columns to read. A column that `where` names must occur in its text, so this can only be too many."""
    used = list(columns)
    if weight_column is not None:
        used.append(weight_column)
    if where is not None:
        text = where.lower()
        used += [name for name in schema.names if name.lower().replace("`", "``") in text]
    return list({name.lower(): name for name in reversed(used)}.values())[::-1]


def fields_of(schema: StructType, columns: Iterable[str]) -> list[StructField]:
    """The named columns with their types alone: field metadata would make Spark fill in column defaults."""
    known = {field.name.lower(): field for field in schema.fields}
    fields = []
    for name in columns:
        field = known.get(name.lower())
        if field is None:
            raise InternalError(why=f"column {name} is not in the source, which has {schema.names}")
        fields.append(StructField(name, bare(field.dataType), True))
    return fields


def _part(spark: SparkSession, change_set: ChangeSet, part: Part, fields: Sequence[StructField]) -> list[DataFrame]:
    match part.way:
        case Way.FEED:
            return [_feed(spark, change_set, part, fields)]
        case Way.SNAPSHOTS:
            return _both_ends(spark, change_set, fields)
    end = change_set.end
    kind = StructField(CHANGE_TYPE, StringType())
    written = _pinned(
        spark,
        [(file, 1) for file in part.cdc],
        [*fields, kind],
        StructType([*end.schema.fields, kind]),
        end.partition_columns,
    )
    return [*_whole_files(spark, change_set, part, fields), *(_with_sign(frame, fields) for frame in written)]


def _whole_files(
    spark: SparkSession, change_set: ChangeSet, part: Part, fields: Sequence[StructField]
) -> list[DataFrame]:
    """Added files +1, removed ones −1; a file live at `before` is read with the columns and partitions of `before`."""
    start, end = change_set.start, change_set.end
    signed = [(file, 1) for file in part.plus] + [(file, -1) for file in part.minus]
    if not change_set.drift.added and start.partition_columns == end.partition_columns:
        return _pinned(spark, signed, fields, end.schema, end.partition_columns)
    old = [(file, sign) for file, sign in signed if file.key in start.live]
    new = [(file, sign) for file, sign in signed if file.key not in start.live]
    return [
        *_pinned(spark, old, fields, start.schema, start.partition_columns),
        *_pinned(spark, new, fields, end.schema, end.partition_columns),
    ]


def _with_sign(frame: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    kind = F.col(CHANGE_TYPE)
    sign = (
        F.when(kind.isin(*(name for name, sign in CHANGE_SIGNS.items() if sign > 0)), F.lit(1))
        .when(kind.isin(*(name for name, sign in CHANGE_SIGNS.items() if sign < 0)), F.lit(-1))
        .otherwise(F.raise_error(F.concat(F.lit("unknown change type "), F.coalesce(kind, F.lit("NULL")))))
    )
    return frame.select(*(F.col(quote(field.name)) for field in fields), sign.cast("bigint").alias(SIGN))


def _feed(spark: SparkSession, change_set: ChangeSet, part: Part, fields: Sequence[StructField]) -> DataFrame:
    """Delta's change reader: by change files if the table kept them throughout, else inferred from whole files.

    The public `table_changes` is the same reader behind a row-by-row conversion that shifts dates before 1582.
    """
    from pyspark.sql import DataFrame as Frame

    jvm = java(spark)
    none = jvm.scala.Option.empty
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, change_set.end.root)
    newest = log.update(False, none(), none())
    # The newest schema, which the reader would take, may know nothing of this interval. Its columns are checked
    # (`drift`), so the end stands in for the start too; rebuilding that snapshot would only cost time.
    end = newest if newest.version() == part.after else log.getSnapshotAt(part.after, none(), none(), False)
    known = jvm.scala.Some(end)
    found = jvm.org.apache.spark.sql.delta.commands.cdc.CDCReader.changesToBatchDF(
        log, part.before + 1, part.after, spark._jsparkSession, none(), known, not change_set.feed_on, known
    )
    return _with_sign(_exactly(Frame(found, spark), fields, CHANGE_TYPE), fields)


def _both_ends(spark: SparkSession, change_set: ChangeSet, fields: Sequence[StructField]) -> list[DataFrame]:
    frames = []
    for side, sign in ((change_set.start, -1), (change_set.end, 1)):
        frame = _at_version(spark, side.root, side.version, fields)
        frames.append(frame.withColumn(SIGN, F.lit(sign).cast("bigint")))
    return frames


def _at_version(spark: SparkSession, root: str, version: int, fields: Sequence[StructField]) -> DataFrame:
    frame = spark.read.format("delta").option("versionAsOf", version).load(root)
    return _exactly(frame, fields)


def _exactly(frame: DataFrame, fields: Sequence[StructField], *more: str) -> DataFrame:
    """These columns under these names; one that this version did not have yet is NULL."""
    there = {name.lower() for name in frame.columns}
    chosen = [
        (F.col(quote(field.name)) if field.name.lower() in there else F.lit(None).cast(field.dataType)).alias(
            field.name
        )
        for field in fields
    ]
    return frame.select(*chosen, *(F.col(quote(name)) for name in more))


def _pinned(
    spark: SparkSession,
    signed: Sequence[tuple[DataFile, int]],
    fields: Sequence[StructField],
    schema: StructType,
    partition_columns: Sequence[str],
) -> list[DataFrame]:
    """Exactly these Parquet files, with the partition values that the log gives them and their sign beside.

    Files that agree in both take them as literals. A read of its own for each combination costs 0.05 s and more to
    plan, so beyond a few all files are read at once and look theirs up by file name.
    """
    names = {field.name.lower() for field in fields}
    asked = [column for column in partition_columns if column.lower() in names]
    groups: dict[tuple[int, tuple[str | None, ...]], list[DataFile]] = {}
    for file, sign in signed:
        groups.setdefault((sign, tuple(file.partition.get(column) for column in asked)), []).append(file)
    lowered = [column.lower() for column in asked]
    if len(groups) > LITERAL_READS and _have_unique_names(signed):
        return [_looked_up(spark, signed, fields, schema, dict(zip(lowered, asked, strict=True)))]
    frames = []
    for (sign, values), files in groups.items():
        # Text cast by Spark, as Delta's own reader does; it writes an empty string for NULL too.
        literals = {name: F.lit(value or None) for name, value in zip(lowered, values, strict=True)}
        frame = _parquet(spark, files, fields, schema, lowered)
        chosen = [_column(field, schema, literals) for field in fields]
        frames.append(frame.select(*chosen, F.lit(sign).cast("bigint").alias(SIGN)))
    return frames


def _have_unique_names(signed: Sequence[tuple[DataFile, int]]) -> bool:
    """True if the last part of the path identifies each file and needs no escaping anywhere."""
    last = [_file_name(file) for file, _ in signed]
    return len(set(last)) == len(last) and all(map(_PLAIN_NAME.fullmatch, last))


def _looked_up(
    spark: SparkSession,
    signed: Sequence[tuple[DataFile, int]],
    fields: Sequence[StructField],
    schema: StructType,
    asked: Mapping[str, str],
) -> DataFrame:
    files = [file for file, _ in signed]
    held = {f"__ps_p{at}": name for at, name in enumerate(asked)}
    table = pa.table(
        {
            _FILE: pa.array([_file_name(file) for file in files], pa.string()),
            SIGN: pa.array([sign for _, sign in signed], pa.int64()),
            **{
                column: pa.array([file.partition.get(asked[name]) or None for file in files], pa.string())
                for column, name in held.items()
            },
        }
    )
    lookup = spark.createDataFrame(table)
    frame = _parquet(spark, files, fields, schema, list(asked))
    named = frame.select("*", F.col("_metadata.file_name").alias("__ps_from"))
    joined = named.join(F.broadcast(lookup), F.col("__ps_from") == F.col(_FILE), "left")
    # The lookup covers every file that is read; should it ever not, fail rather than make up NULLs.
    lost = F.raise_error(F.concat(F.lit("no log entry for data file "), F.col("__ps_from")))
    values = {name: F.when(F.col(_FILE).isNull(), lost).otherwise(F.col(column)) for column, name in held.items()}
    sign = F.when(F.col(_FILE).isNull(), lost).otherwise(F.col(SIGN))
    return joined.select(*(_column(field, schema, values) for field in fields), sign.cast("bigint").alias(SIGN))


def _parquet(
    spark: SparkSession,
    files: Sequence[DataFile],
    fields: Sequence[StructField],
    schema: StructType,
    partitions: Sequence[str],
) -> DataFrame:
    """The stored columns among `fields`, under the names of `schema`."""
    known = {field.name.lower(): field.name for field in schema.fields}
    stored = [
        StructField(known[field.name.lower()], field.dataType, True)
        for field in fields
        if field.name.lower() in known and field.name.lower() not in partitions
    ]
    return (
        spark.read.schema(StructType(stored))
        .option("__globPaths__", "false")
        .option("recursiveFileLookup", "true")
        .option("ignoreMissingFiles", "false")
        .option("ignoreCorruptFiles", "false")
        .parquet(*(file.path for file in files))
    )


def _column(field: StructField, schema: StructType, partitions: Mapping[str, Column]) -> Column:
    """A column of a pinned read: from the log, from the files, or NULL if `schema` does not have it."""
    name = field.name.lower()
    if name in partitions:
        return partitions[name].cast(field.dataType).alias(field.name)
    stored = next((known.name for known in schema.fields if known.name.lower() == name), None)
    if stored is None:
        return F.lit(None).cast(field.dataType).alias(field.name)
    return F.col(quote(stored)).alias(field.name)


def _file_name(file: DataFile) -> str:
    return file.path.rpartition("/")[2]


def _union(spark: SparkSession, fields: Sequence[StructField], frames: Sequence[DataFrame]) -> DataFrame:
    if not frames:
        nothing = spark.sql("SELECT 1 WHERE false")
        return nothing.select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))
    return reduce(lambda left, right: left.union(right), frames)


def _holds(kind: DataType, sought: tuple[type[DataType], ...]) -> bool:
    match kind:
        case StructType():
            return any(_holds(field.dataType, sought) for field in kind.fields)
        case ArrayType():
            return _holds(kind.elementType, sought)
        case MapType():
            return _holds(kind.keyType, sought) or _holds(kind.valueType, sought)
    return isinstance(kind, sought)
