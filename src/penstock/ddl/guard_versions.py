"""Refuses for a stream table, which is a view to Spark, what Spark answers of tables alone; says what to write."""

from __future__ import annotations

from penstock.catalog.model import StreamTableMeta
from penstock.engine.spark.registry import view_query
from penstock.errors import InvalidName, OnlyTables
from penstock.lang.only_of_tables import OnlyOfTables, only_of_tables
from penstock.names import TableName, quote
from penstock.refresh.warehouse import Warehouse


def guard_versions(warehouse: Warehouse, sql: str, current_schema: str) -> None:
    """OnlyTables if a statement or query asks of a stream table what Spark answers of tables alone."""
    for each in only_of_tables(sql):
        try:
            meta = warehouse.catalog.find(TableName.parse(each.name, current_schema))
        except InvalidName:
            # A path, or a name that Spark is to refuse.
            continue
        if meta is not None:
            raise OnlyTables(name=meta.name, asked=each.asked, instead=_instead(warehouse, meta, each))


def _instead(warehouse: Warehouse, meta: StreamTableMeta, each: OnlyOfTables) -> str:
    asked = each.asked
    if asked == "table_changes":
        return f"SUBSCRIBE {meta.name} AS OF VERSION version"
    if asked == "DESCRIBE HISTORY":
        return f"DESCRIBE HISTORY STREAM TABLE {meta.name}"
    if asked == "DESCRIBE DETAIL":
        return f"DESCRIBE EXTENDED STREAM TABLE {meta.name}"
    rows = view_query(warehouse.definition(meta), f"delta.{quote(meta.path)} {asked}")
    return f"({rows})" if each.has_alias else f"({rows}) AS {quote(meta.name.table)}"
