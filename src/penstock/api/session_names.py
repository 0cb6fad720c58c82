"""The names of a Spark session: restored when a session starts, noted when a statement has changed them.

A session whose catalog is in memory forgets its tables and views; the warehouse's catalog keeps them.
"""

from __future__ import annotations

from datetime import timedelta

from penstock.engine.spark import registry
from penstock.names import TableName
from penstock.refresh.define import mark_moved
from penstock.refresh.restore_names import restore_names
from penstock.refresh.warehouse import Warehouse


def restore_session(warehouse: Warehouse) -> None:
    """Close what a dead process left open in the catalog, and give a new session the names that the warehouse holds."""
    spark, catalog = warehouse.spark, warehouse.catalog
    if not catalog.read_only:
        catalog.close_orphans(now=catalog.now())
        keep = timedelta(days=warehouse.settings.history_keep_days)
        catalog.prune_history(keep, now=warehouse.now())
        catalog.prune_alerts(keep, now=warehouse.now())
    if registry.is_forgetful(spark):
        restore_names(warehouse)


def note_names(warehouse: Warehouse) -> None:
    """Note what Spark's catalog holds now, so that the next process finds it."""
    catalog = warehouse.catalog
    ours = {f"{meta.name.schema}.{meta.name.table}" for meta in catalog.get_all()}
    present = {each.name: each for each in registry.registered(warehouse.spark) if each.name not in ours}
    before = {each.name: each for each in catalog.known_tables()}
    for name, table in present.items():
        if before.get(name) != table:
            catalog.remember_table(table)
    for name, table in before.items():
        if name not in present and name not in warehouse.unnamed:
            if table.table:
                catalog.forget_table(TableName(table.schema, table.table))
            else:
                catalog.forget_schema(table.schema)
    paths = {name: table.path for name, table in present.items() if table.path is not None}
    mark_moved(catalog, paths, warehouse.now())
