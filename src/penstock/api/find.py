"""From a name as a caller writes it to the stream table in the catalog."""

from __future__ import annotations

from penstock.catalog.model import StreamTableMeta
from penstock.catalog.warehouse_folder import lost_stream_tables
from penstock.engine.spark import registry
from penstock.errors import StreamTableNotFound
from penstock.lang.unknown_name import LOST, what_was_meant
from penstock.names import TableName
from penstock.refresh.warehouse import Warehouse


def full_name(warehouse: Warehouse, name: str) -> TableName:
    """The name with its schema; without one, the schema of the session."""
    # A session that has just been started stands in the default schema.
    return TableName.parse(name, registry.current_schema(warehouse.spark) if warehouse.has_started else "default")


def find_stream_table(warehouse: Warehouse, name: str) -> StreamTableMeta:
    """The stream table of that name; `StreamTableNotFound` says what the name stands for, or which one is close."""
    table = full_name(warehouse, name)
    meta = warehouse.catalog.find(table)
    if meta is not None:
        return meta
    kind = registry.kind_of(warehouse.spark, table) if warehouse.has_started else None
    known = [each.name for each in warehouse.catalog.get_all()]
    meant = f"It is a {kind}. " if kind else ""
    hint = LOST if str(table) in lost_names(warehouse) else meant + what_was_meant(name, table, known)
    raise StreamTableNotFound(name=str(table), nearest=hint)


def lost_names(warehouse: Warehouse) -> list[str]:
    """The stream tables that lie in the warehouse and are missing from its catalog."""
    return [str(name) for name in lost_stream_tables(warehouse.root, warehouse.catalog.get_all())]
