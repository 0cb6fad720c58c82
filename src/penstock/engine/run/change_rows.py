"""Rows on their way from a program to a commit: on the driver as Arrow, or in Spark as a DataFrame."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from penstock.compile.stored import MINUS, OP, PLUS, SHOWN, Store
from penstock.engine.delta.definition import Definition
from penstock.engine.read.scan import scan
from penstock.engine.run.program import Program, Rows
from penstock.engine.run.workspace import Workspace
from penstock.engine.spark.calls import arrow_rows
from penstock.engine.spark.registry import view_query
from penstock.engine.write.apply import Change
from penstock.engine.write.apply_spark import conformed, spark_schema
from penstock.engine.write.staged import StagedFiles, sort_staged, stage, stageable
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import Pin
from penstock.engine.write.table_properties import layout_of
from penstock.names import WEIGHT, quote
from penstock.operators.types import same


def combined(spark: SparkSession, first: Rows, second: Rows) -> Rows:
    """The rows of a change and of its finish together, without the ones that were to be recomputed."""
    if isinstance(first.held, pa.Table) and isinstance(second.held, pa.Table):
        settled = first.held.filter(pc.not_equal(first.held.column(OP), "?"))
        return Rows(first.schema, pa.concat_tables([settled, second.held.cast(settled.schema)]))
    frame = first.frame(spark).where(F.col(OP) != "?").unionByName(second.frame(spark))
    return Rows(first.schema, frame)


def as_change(store: Store, rows: Rows, plain: bool) -> Change:
    """The rows as the applier takes them; `plain` rows of a bag are additions only."""
    columns = [column.name for column in store.columns]
    if not store.weighted:
        return Change("keyed", _select(rows, [*columns, OP]))
    return Change("append", _select(rows, columns)) if plain else Change("bag", _select(rows, [*columns, OP]))


def count_visible(rows: pa.Table | DataFrame | StagedFiles, store: Store) -> int:
    """How many rows of a whole table, each of weight 1, a user would see."""
    if isinstance(rows, StagedFiles):
        return rows.count_where(SHOWN) if store.has_hidden_rows else rows.rows
    if isinstance(rows, pa.Table):
        return int(pc.sum(rows.column(SHOWN)).as_py() or 0) if store.has_hidden_rows else int(rows.num_rows)
    return int((rows.where(F.col(quote(SHOWN))) if store.has_hidden_rows else rows).count())


def check_unique(program: Program, change: Change, schema: StructType, key: tuple[str, ...]) -> str | None:
    """A key that occurs twice, as text; None if there is none."""
    rows, spark = change.rows, program.spark
    frame = rows.frame(spark) if isinstance(rows, StagedFiles) else Rows(schema, rows).frame(spark)
    doubled = frame.groupBy(*(F.col(quote(name)) for name in key)).count().where("count > 1").limit(1).collect()
    return str(doubled[0].asDict()) if doubled else None


def staged(change: Change, storage: Storage, pin: Pin) -> Change:
    """The change with its rows in files, if they are many and only have to be added."""
    if not isinstance(change.rows, DataFrame) or change.kind not in {"append", "overwrite"}:
        return change
    if (pin.not_fast is not None and not pin.marks) or not stageable(storage.path):
        return change
    schema = spark_schema(layout_of(pin.handle).schema_json)
    return Change(change.kind, stage(conformed(change.rows, schema), storage.path))


def whole_table(program: Program, rows: Rows, files: tuple[Storage, Pin] | None, in_order: bool) -> Change:
    """All rows of a table, run now: collected, or written to files if there is a place for them, or cached.

    Files are sorted with `in_order`, if they are many.
    """
    assert isinstance(rows.held, DataFrame)
    if program.on_driver:
        return Change("overwrite", arrow_rows(rows.held))
    ready = Change("overwrite", rows.held)
    if files is not None:
        ready = staged(ready, *files)
    if files is not None and in_order and isinstance(ready.rows, StagedFiles):
        key = layout_of(files[1].handle).key
        ready = Change("overwrite", sort_staged(rows.held.sparkSession, ready.rows, key))
    if isinstance(ready.rows, DataFrame):
        program.keep("__ps_whole", Rows(rows.schema, ready.rows.persist()))
    return ready


def sample(spark: SparkSession, rows: Rows, operation: str) -> str:
    """One row with that operation, as text."""
    found = rows.frame(spark).where(F.col(OP) == operation).limit(1).collect()
    row = {name: value for name, value in found[0].asDict().items() if name not in {OP, PLUS, MINUS}} if found else {}
    return str(row)


def overlaid(
    workspace: Workspace, definition: Definition, store: Store, path: str, version: int, change: Change
) -> DataFrame:
    """What a user would see of the storage at a version if the change were applied to it."""
    spark = workspace.session
    columns = [column.name for column in store.columns]
    stored = scan(spark, workspace.logs.at(path).snapshot(version), columns)
    if isinstance(change.rows, pa.Table):
        # Without the schema, timestamps without zone would come back shifted.
        marked = StructField(OP, StringType())
        fields = [stored.schema[name] if name in columns else marked for name in change.rows.column_names]
        rows = spark.createDataFrame(change.rows, schema=StructType(fields))
    else:
        assert isinstance(change.rows, DataFrame)
        # The program that has cached them ends before anybody reads what is returned here.
        rows = change.rows.localCheckpoint()
    if change.kind == "append":
        merged = stored.unionByName(rows.select(*columns))
    else:
        matched = list(store.key) if store.key is not None else [name for name in columns if name != WEIGHT]
        types = {column.name: column.type for column in store.columns}
        gone = rows.where(F.col(OP) != "i") if store.weighted else rows
        gone.createOrReplaceTempView("__ps_gone")
        stored.createOrReplaceTempView("__ps_standing")
        match = " AND ".join(same(f"s.{quote(name)}", f"g.{quote(name)}", types[name]) for name in matched) or "TRUE"
        kept = spark.sql(f"SELECT s.* FROM `__ps_standing` s LEFT ANTI JOIN `__ps_gone` g ON {match}")
        merged = kept.unionByName(rows.where(F.col(OP).isin("i", "u")).select(*columns))
    merged.createOrReplaceTempView("__ps_merged")
    shown = spark.sql(view_query(definition, "`__ps_merged`"))
    for view in ("__ps_gone", "__ps_standing", "__ps_merged"):
        # They would hold the rows for as long as the session lives.
        spark.catalog.dropTempView(view)
    return shown


def _select(rows: Rows, columns: list[str]) -> pa.Table | DataFrame:
    if isinstance(rows.held, pa.Table):
        return rows.held.select(columns)
    return rows.held.select(*(F.col(quote(name)) for name in columns))
