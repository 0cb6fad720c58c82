"""What a Spark session gets when it starts: the names that the warehouse holds.

A Spark catalog in memory forgets its tables and views with its process; the warehouse's catalog keeps them.
"""

from __future__ import annotations

from datetime import timedelta

from penstock.engine.spark import registry
from penstock.refresh.share_names import begin_sharing
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
        begin_sharing(warehouse)
