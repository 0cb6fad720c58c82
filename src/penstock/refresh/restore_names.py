"""The names of a warehouse in a Spark catalog that lives in memory: schemas, tables, stream tables' views, other views.

What cannot be registered because something that it reads is away is tried again before the next refresh or statement,
and stays in the catalog until then.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.catalog.model import KnownKind, KnownTable, StreamTableMeta
from penstock.engine.spark.held_names import held_under
from penstock.engine.spark.registry import drop_view, kind_of, restore, restore_view
from penstock.errors import PenstockError
from penstock.names import TableName
from penstock.refresh.warehouse import Warehouse


def unquoted_name(meta: StreamTableMeta) -> str:
    """The name of a stream table as `KnownTable.name` has that of a plain one."""
    return f"{meta.name.schema}.{meta.name.table}"


def restore_names(
    warehouse: Warehouse, known: Collection[KnownTable], stream_tables: Collection[StreamTableMeta]
) -> None:
    """Register these where they are not; notes in the warehouse what could not be."""
    spark = warehouse.spark
    restore(spark, [each for each in known if each.kind is not KnownKind.VIEW])
    unnamed = [
        unquoted_name(meta)
        for meta in stream_tables
        if kind_of(spark, meta.name) is None and not _restore_view(warehouse, meta)
    ]
    warehouse.unnamed = frozenset([*unnamed, *restore(spark, known)])


def drop_left_over(warehouse: Warehouse, name: TableName) -> None:
    """Drop the view of a stream table that is no more; a view or table of others under its name stays."""
    held = held_under(warehouse.spark, name)
    if held is not None and held.is_ours and warehouse.catalog.find(name) is None:
        drop_view(warehouse.spark, name)


def _restore_view(warehouse: Warehouse, meta: StreamTableMeta) -> bool:
    """The view of a stream table; False if there is none for now. A storage that is away or half rebuilt must not keep
    the others from being opened: the next refresh of that one table says what is wrong, or finishes the rebuild.
    """
    try:
        definition = warehouse.definition(meta)
    except (PenstockError, KeyError, ValueError):
        return False
    return restore_view(warehouse.spark, definition, meta.path)
