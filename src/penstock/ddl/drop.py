"""DROP STREAM TABLE: view, storage, catalog row, history; consumers first, and only when asked for."""

from __future__ import annotations

import logging
import shutil

from penstock.catalog.model import StreamTableMeta
from penstock.engine.spark.registry import drop_view
from penstock.errors import HasConsumers
from penstock.graph.dag import StreamGraph
from penstock.graph.order import order_refreshes, without_circles
from penstock.refresh.keep_names import keep_names
from penstock.refresh.warehouse import Warehouse

_log = logging.getLogger("penstock.refresh")


def drop(warehouse: Warehouse, meta: StreamTableMeta, cascade: bool) -> list[str]:
    """Drop a stream table, with `cascade` all that read it too; returns the names in the order of dropping."""
    keep_names(warehouse)
    catalog = warehouse.catalog
    tables = {each.table_id: each for each in catalog.get_all()}
    graph = StreamGraph.build(tables.values(), catalog.all_dependencies())
    readers = [tables[key] for key in graph.downstream(meta.table_id) if key in tables]
    if readers and not cascade:
        direct = sorted(str(each.name) for each in catalog.consumers_of(meta.table_id))
        raise HasConsumers(name=str(meta.name), consumers=", ".join(direct))
    # Dropping is a way out of a circle, so one must not stand in its way.
    order = order_refreshes(without_circles(graph), {meta.table_id, *(each.table_id for each in readers)})
    dropped = []
    for node in reversed(order):
        each = tables[node.key]
        # Catalog first: a half-dropped stream table must not be refreshed again.
        catalog.delete(each.id)
        drop_view(warehouse.spark, each.name)
        shutil.rmtree(each.path, ignore_errors=True)
        dropped.append(str(each.name))
        _log.info("%s dropped", each.name, extra={"stream_table": str(each.name), "event": "dropped"})
    return dropped
