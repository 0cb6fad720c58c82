"""Snapshots and change sets as DataFrames.

A pinned scan hands Spark exactly the Parquet files of one version, with the schema spelled out and the partition
values taken from the log as typed literals; folders are never looked at. Where plain Parquet is not the table
(`Snapshot.slow_because`, `ChangeSet.reader_because`) Delta's own reader gives the same rows.

Changes are netted by bits before any caller sees them: two rows cancel only if every value is the same, the sign of
zero included. Sessions that run these frames must carry `spark.refresh_conf.REFRESH_CONF`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    LongType,
    StringType,
    StructField,
    StructType,
)

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.drift import bare, drift_affects
from penstock.engine.delta.interval import ChangeSet, Part, Way
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.net import net_frame
from penstock.engine.read.pinned_files import SIGN, pinned_files
from penstock.engine.read.pruning import Bounds, prune, row_filter
from penstock.engine.spark.jvm import java
from penstock.errors import InternalError, SourceChanged
from penstock.names import WEIGHT, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        frames = pinned_files(spark, [(file, 1) for file in files], fields, snapshot.schema, snapshot.partition_columns)
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
    return weighted if change_set.insert_only else net_frame(weighted, wanted)


def check_columns(log: DeltaLog, change_set: ChangeSet, used: Sequence[str]) -> None:
    """`SourceChanged` if one of the columns is not the same column at both ends."""
    if reason := drift_affects(replace(change_set.drift, loosened=()), used):
        raise SourceChanged(source=log.root, why=reason)


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
    written = pinned_files(
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
        return pinned_files(spark, signed, fields, end.schema, end.partition_columns)
    old = [(file, sign) for file, sign in signed if file.key in start.live]
    new = [(file, sign) for file, sign in signed if file.key not in start.live]
    return [
        *pinned_files(spark, old, fields, start.schema, start.partition_columns),
        *pinned_files(spark, new, fields, end.schema, end.partition_columns),
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


def _union(spark: SparkSession, fields: Sequence[StructField], frames: Sequence[DataFrame]) -> DataFrame:
    if not frames:
        nothing = spark.sql("SELECT 1 WHERE false")
        return nothing.select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))
    return reduce(lambda left, right: left.union(right), frames)
