"""A statement that is Spark's: run as it was written, between checks before it and bookkeeping after it.

before   Spark's catalog shows every stream table under its name; a statement that takes what they need is refused
during   the views of the monitor answer with present rows; an INSERT counts the rows that it writes
after    names that it changed are noted for other processes
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.api.find import find_stream_table, full_name
from penstock.api.refreshing import refresh_one
from penstock.api.statement_result import StatementResult, message, refresh_rows
from penstock.ddl.guard_names import guard_names
from penstock.ddl.guard_versions import guard_versions
from penstock.engine.read.rows_as_view import rows_as_views
from penstock.engine.run.written_rows import counting_rows, counts
from penstock.engine.spark import registry
from penstock.engine.spark.plain_tables import create_table
from penstock.engine.spark.pyspark_types import DataFrame
from penstock.engine.spark.statement import statement_errors
from penstock.errors import InvalidName
from penstock.lang import PassThrough
from penstock.lang.plain_refresh import PlainRefresh
from penstock.lang.written import inserted_into
from penstock.layout.retention import guard_vacuum
from penstock.monitor.unchanged import UnchangedByLogs
from penstock.monitor.views import views_in
from penstock.names import TableName
from penstock.refresh.keep_names import keep_names
from penstock.refresh.result import Report
from penstock.refresh.share_names import push_names
from penstock.refresh.warehouse import Warehouse


def run_in_spark(warehouse: Warehouse, statement: PassThrough, yes: bool) -> DataFrame:
    """Run a statement of Spark's; with `yes`, although stream tables need what it takes away."""
    keep_names(warehouse)
    spark = warehouse.spark
    database = registry.current_schema(spark)
    guard_versions(warehouse, statement.sql, database)
    if statement.kind != "query":
        guard_names(warehouse, statement, yes)
    if statement.verb == "VACUUM" and not yes:
        guard_vacuum(warehouse, statement, database)
    views = views_in(
        statement.sql,
        warehouse.catalog,
        warehouse.now(),
        warehouse.settings.min_target_lag,
        partial(UnchangedByLogs, warehouse),
    )
    with rows_as_views(spark, views), statement_errors(spark, statement.sql):
        count_inserted = _row_counter(warehouse, statement)
        creates = statement.defines == "table"
        frame = create_table(spark, statement.sql) if creates else spark.sql(statement.sql)
        inserted = count_inserted()
    if inserted is not None:
        frame = counts(spark, inserted)
    if statement.kind in {"ddl", "other"}:
        push_names(warehouse)
    return frame


def refresh_in_spark(
    warehouse: Warehouse, refresh: PlainRefresh, statement: PassThrough, progress: Report | None
) -> StatementResult:
    """Spark's REFRESH. Of a stream table it refreshes the rows, which Spark would answer without doing anything."""
    what = refresh.what
    table = _table_name(warehouse, what)
    if table is not None and warehouse.catalog.find(table) is not None:
        return refresh_rows([refresh_one(warehouse, what, progress)])
    if refresh.is_name:
        with statement_errors(warehouse.spark, statement.sql):
            exists = warehouse.spark.catalog.tableExists(what)
        if not exists:
            find_stream_table(warehouse, what)
    run_in_spark(warehouse, statement, yes=False)
    if refresh.is_name:
        return message(
            "refresh", f"{what} is no stream table: Spark will read its files anew, and nothing was computed"
        )
    return message(
        "refresh", f"Spark will read {what} anew, and nothing was computed; write: REFRESH STREAM TABLE name"
    )


def _row_counter(warehouse: Warehouse, statement: PassThrough) -> Callable[[], int | None]:
    """A function that counts, after a statement, the rows that it inserted; None where Spark counts them."""
    target = inserted_into(statement)
    table = None if target is None else _table_name(warehouse, target)
    return (lambda: None) if table is None else counting_rows(warehouse.spark, warehouse.logs, table)


def _table_name(warehouse: Warehouse, written: str) -> TableName | None:
    """The name; None of a path, or of a name that Spark is to refuse."""
    try:
        return full_name(warehouse, written)
    except InvalidName:
        return None
