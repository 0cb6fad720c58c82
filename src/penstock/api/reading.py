"""What can be read of a stream table: its rows, its plan, its definition, and whether it is exact."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.find import find_stream_table
from penstock.ddl.definition_errors import definition_errors
from penstock.ddl.guard_versions import guard_versions
from penstock.engine.spark import registry
from penstock.engine.spark.pyspark_types import DataFrame
from penstock.engine.spark.result_settings import result_settings
from penstock.reading.audit import AuditReport, audit
from penstock.reading.describe import columns_of, details_of
from penstock.reading.explain import Explanation, explain_query, explain_table
from penstock.reading.fresh import fresh_rows
from penstock.reading.read_together import rows_at_one_instant
from penstock.reading.show_create import create_text
from penstock.refresh.keep_names import keep_names
from penstock.refresh.warehouse import Warehouse

_QUERY_STARTS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE ", "(", "--", "/*")


def read_rows(warehouse: Warehouse, name: str, fresh: bool) -> DataFrame:
    """The stored rows, or those that a refresh would store."""
    meta = find_stream_table(warehouse, name)
    keep_names(warehouse)
    return fresh_rows(warehouse, [meta])[0] if fresh else warehouse.spark.table(meta.name.sql)


def read_at_one_instant(warehouse: Warehouse, names: Iterable[str], fresh: bool) -> dict[str, DataFrame]:
    """The rows of several stream tables, by name, at one version of every base table they share."""
    asked = list(dict.fromkeys(names))
    metas = [find_stream_table(warehouse, name) for name in asked]
    frames = fresh_rows(warehouse, metas) if fresh else rows_at_one_instant(warehouse, metas)
    return dict(zip(asked, frames, strict=True))


def explain_name_or_query(warehouse: Warehouse, name_or_query: str) -> Explanation:
    """How a stream table is maintained, or how a query would be."""
    keep_names(warehouse)
    text = name_or_query.strip()
    if not text.upper().startswith(_QUERY_STARTS):
        return explain_table(warehouse, find_stream_table(warehouse, text))
    settings, database = result_settings(warehouse.spark), registry.current_schema(warehouse.spark)
    guard_versions(warehouse, text, database)
    with definition_errors():
        return explain_query(warehouse, text, settings, database)


def audit_stream_table(warehouse: Warehouse, name: str) -> AuditReport:
    """Compare the stored rows with the query at the stored frontier."""
    meta = find_stream_table(warehouse, name)
    keep_names(warehouse)
    return audit(warehouse, meta)


def create_statement(warehouse: Warehouse, name: str) -> str:
    """The CREATE statement that gives the same definition."""
    meta, spark = find_stream_table(warehouse, name), warehouse.spark
    definition = warehouse.definition(meta)
    return create_text(definition, meta, registry.current_schema(spark), result_settings(spark))


def describe_stream_table(warehouse: Warehouse, name: str, extended: bool) -> list[tuple[str, str]]:
    """Columns and types; `extended`, the definition's options and sources too."""
    meta = find_stream_table(warehouse, name)
    definition = warehouse.definition(meta)
    sources = [each.source_name for each in warehouse.catalog.dependencies_of(meta.id)]
    return columns_of(definition) + (details_of(definition, meta, sources) if extended else [])
