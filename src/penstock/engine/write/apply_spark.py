"""Apply a change with Spark: for changes too large for the driver and for tables that delta-rs may not write.

A SQL MERGE takes its transaction and record from session settings, so each merge has a session of its own. Spark reads
the newest version, not the pinned one, and skips a transaction number it has seen: what really happened is for the
caller to check (`commit`). The source is computed once, in the session it came from and under that session's settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import delta.exceptions as conflicts
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from penstock.engine.delta.storage_schema import Fields, arrow_schema, conform, fields_of, nullable
from penstock.engine.failures.spark_errors import understood
from penstock.engine.failures.spark_message import first_lines
from penstock.engine.read.sql_literals import identifier
from penstock.engine.spark.calls import arrow_rows
from penstock.engine.write.apply import Change
from penstock.engine.write.apply_delta_rs import RANGE_COLUMNS, key_ranges, merge_key, merge_source
from penstock.engine.write.merge_predicate import OP, MergeRange, match, rangeable, within
from penstock.engine.write.staged import StagedFiles
from penstock.engine.write.table_properties import Layout
from penstock.errors import CommitConflict, InternalError, StorageError
from penstock.failpoints import Failpoint, reach

_CONFLICTS = (
    conflicts.ConcurrentAppendException,
    conflicts.ConcurrentDeleteDeleteException,
    conflicts.ConcurrentDeleteReadException,
    conflicts.ConcurrentTransactionException,
    conflicts.ConcurrentWriteException,
    conflicts.MetadataChangedException,
    conflicts.ProtocolChangedException,
)


def apply(
    spark: SparkSession,
    path: str,
    change: Change,
    layout: Layout,
    *,
    schema_json: str | None,
    record: str,
    app: str,
    number: int,
) -> None:
    """Hand the change to Spark; CommitConflict if Spark itself saw another writer."""
    with translated(path):
        if change.kind in ("append", "overwrite"):
            _write(spark, path, change, schema_json or layout.schema_json, record, app, number)
        else:
            _merge(spark, path, change, layout, record, app, number)
    reach(Failpoint.WRITTEN_BY_SPARK)


def commit_frontier_only(spark: SparkSession, path: str, layout: Layout, *, record: str, app: str, number: int) -> None:
    """Commit the record alone: an append of no rows, which Spark commits because it carries a transaction."""
    nothing = Change("append", arrow_schema(layout.schema_json).empty_table())
    apply(spark, path, nothing, layout, schema_json=None, record=record, app=app, number=number)


def spark_schema(schema_json: str) -> StructType:
    """The storage columns as Spark's type, all nullable."""
    return StructType.fromJson(json.loads(nullable(schema_json)))


def _write(
    spark: SparkSession, path: str, change: Change, schema_json: str, record: str, app: str, number: int
) -> None:
    schema = spark_schema(schema_json)
    if isinstance(change.rows, pa.Table):
        rows = _frame(spark, conform(change.rows, arrow_schema(schema_json)), schema)
    else:
        rows = conformed(_in_spark(spark, change), schema)
    writer = (
        rows.write.format("delta")
        .mode(change.kind)
        .option("userMetadata", record)
        .option("txnAppId", app)
        .option("txnVersion", number)
    )
    if change.kind == "overwrite":
        writer = writer.option("overwriteSchema", "true")
    writer.save(path)


def _merge(spark: SparkSession, path: str, change: Change, layout: Layout, record: str, app: str, number: int) -> None:
    key, fields = merge_key(change, layout), layout.fields
    schema = spark_schema(layout.schema_json).add(OP, StringType())
    if isinstance(change.rows, pa.Table):
        source = merge_source(change, change.rows, layout)
        matching = source if change.kind == "keyed" else source.filter(pa.compute.equal(source[OP], "d"))
        ranges = key_ranges(matching, key, fields) if matching.num_rows else {}
        rows = _frame(spark, source, schema)
    else:
        # Pinned to disk once: the ranges and both passes of the merge must see the very same rows.
        rows = conformed(_in_spark(spark, change), schema).localCheckpoint(eager=True)
        ranges = _ranges(rows, change, key, fields)
    session = spark.newSession()
    for name, value in (
        ("spark.databricks.delta.commitInfo.userMetadata", record),
        ("spark.databricks.delta.write.txnAppId", app),
        ("spark.databricks.delta.write.txnVersion", str(number)),
        ("spark.databricks.delta.merge.materializeSource", "none"),
    ):
        session.conf.set(name, value)
    view = f"ps_merge_{uuid4().hex}"
    rows.createGlobalTempView(view)
    try:
        session.sql(_statement(path, f"global_temp.{view}", change, key, fields, ranges)).collect()
    finally:
        session.catalog.dropGlobalTempView(view)


def _statement(
    path: str, view: str, change: Change, key: tuple[str, ...], fields: Fields, ranges: dict[str, MergeRange]
) -> str:
    op = f"s.{identifier(OP, 'spark')}"
    condition = match(key, fields, "spark")
    if change.kind == "bag":
        condition = f"({op} = 'd') AND {condition}"
    bounds = within(ranges, fields, "spark")
    names = [identifier(name, "spark") for name in fields]
    insert = f"INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"
    clauses = [f"WHEN MATCHED AND {op} = 'd' THEN DELETE"]
    if change.kind == "keyed":
        clauses.append(
            f"WHEN MATCHED AND {op} = 'u' THEN UPDATE SET {', '.join(f't.{name} = s.{name}' for name in names)}"
        )
        clauses.append(f"WHEN NOT MATCHED AND {op} = 'u' THEN {insert}")
    else:
        clauses.append(f"WHEN NOT MATCHED AND {op} = 'i' THEN {insert}")
    target = f"delta.{identifier(path, 'spark')}"
    where = f"{condition} AND {bounds}" if bounds else condition
    return f"MERGE INTO {target} AS t USING {view} AS s ON {where}\n" + "\n".join(clauses)


def _ranges(rows: DataFrame, change: Change, key: tuple[str, ...], fields: Fields) -> dict[str, MergeRange]:
    names = [name for name in key if rangeable(name, fields)][:RANGE_COLUMNS]
    if not names:
        return {}
    matching = rows if change.kind == "keyed" else rows.where(F.col(OP) == "d")
    columns = [F.col(identifier(name, "spark")) for name in names]
    bounds = [
        part
        for place, column in enumerate(columns)
        for part in (F.min(column).alias(f"low{place}"), F.max(column).alias(f"high{place}"))
    ]
    nulls = [F.max(column.isNull()).alias(f"null{place}") for place, column in enumerate(columns)]
    # As Arrow: Python datetimes of collect() would be moved to the driver's time zone.
    measured = arrow_rows(matching.agg(*bounds, *nulls))
    ranges: dict[str, MergeRange] = {}
    for place, name in enumerate(names):
        has_null = measured[f"null{place}"][0].as_py()
        if has_null is None:
            return {}  # nothing can match
        column = pa.chunked_array([measured[f"low{place}"].combine_chunks(), measured[f"high{place}"].combine_chunks()])
        spans = key_ranges(conform(pa.table({name: column}), arrow_schema_of(name, fields)), (name,), fields)
        if name in spans:
            ranges[name] = MergeRange(spans[name].low, spans[name].high, bool(has_null))
    return ranges


def arrow_schema_of(name: str, fields: Fields) -> pa.Schema:
    """The Arrow schema of a single storage column."""
    field: dict[str, Any] = {"name": name, "type": fields[name], "nullable": True, "metadata": {}}
    return arrow_schema(json.dumps({"type": "struct", "fields": [field]}))


def _frame(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    # With the schema given: inferred from Arrow, a timestamp without zone would come back as an instant, shifted.
    return spark.createDataFrame(rows, schema=schema)


def _in_spark(spark: SparkSession, change: Change) -> DataFrame:
    return change.rows.frame(spark) if isinstance(change.rows, StagedFiles) else change.rows


def conformed(rows: DataFrame, schema: StructType) -> DataFrame:
    """The rows with the table's columns in their order; an error if one is missing or of another type."""
    if sorted(rows.columns) != sorted(schema.names):
        raise InternalError(why=f"rows have the columns {rows.columns}, the table has {schema.names}")
    rows = rows.select(*[F.col(identifier(name, "spark")).alias(name, metadata={}) for name in schema.names])
    given, wanted = fields_of(nullable(rows.schema.json())), fields_of(nullable(schema.json()))
    for name, delta_type in wanted.items():
        if given[name] != delta_type:
            raise InternalError(why=f"column {name} comes as {given[name]}, the table holds {delta_type}")
    return rows


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Errors of Spark as ours: CommitConflict for a lost race, StorageError for what is not known, else as they are."""
    try:
        yield
    except _CONFLICTS as lost:
        raise CommitConflict(name=name, why=str(lost).splitlines()[0]) from lost
    except (PySparkException, Py4JError, OSError) as failed:
        meant = understood(failed, name)
        if isinstance(meant, InternalError):
            raise StorageError(
                detail=f"Spark could not write {name}: {first_lines(failed).splitlines()[0]}"
            ) from failed
        raise meant from failed
