"""DROP STREAM TABLE: catalog row, history, storage, view; consumers first, and only when asked for.

The view comes last, because Spark may not answer: then the next look at the names drops it.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress

from penstock.catalog.model import StreamTableMeta
from penstock.errors import HasConsumers, PenstockError, StreamTableNotFound
from penstock.graph.dag import StreamGraph
from penstock.graph.order import order_refreshes, without_circles
from penstock.lang.unknown_name import DROPPED
from penstock.names import TableName
from penstock.refresh.keep_names import keep_names
from penstock.refresh.restore_names import drop_left_over
from penstock.refresh.warehouse import Warehouse

_log = logging.getLogger("penstock.refresh")


def drop(warehouse: Warehouse, meta: StreamTableMeta, cascade: bool) -> list[str]:
    """Drop a stream table, with `cascade` all that read it too; returns the names in the order of dropping."""
    try:
        keep_names(warehouse)
    except Exception as refused:
        # What is to go does not need its name put right.
        _log.warning("names could not be looked at: %s", refused, extra={"event": "dropped"})
    return _dropped(warehouse, meta, cascade)


def undo(warehouse: Warehouse, meta: StreamTableMeta) -> None:
    """Take back a stream table that could not be filled, unless it has a reader already.

    Spark may be what failed, and no other error is to take the place of the first one.
    """
    with suppress(PenstockError):
        _dropped(warehouse, meta, cascade=False)


def discard_view(warehouse: Warehouse, table_id: str, name: TableName) -> None:
    """Drop the view of a stream table that is no more, now or at the next look at the names."""
    warehouse.named[table_id] = name
    try:
        with warehouse.naming:
            drop_left_over(warehouse, name)
    except Exception as refused:
        about = {"stream_table": str(name), "event": "dropped"}
        _log.warning("%s is dropped, but not its view yet: %s", name, refused, extra=about)
    else:
        warehouse.named.pop(table_id, None)


def _dropped(warehouse: Warehouse, meta: StreamTableMeta, cascade: bool) -> list[str]:
    catalog = warehouse.catalog
    tables = {each.table_id: each for each in catalog.get_all()}
    if meta.table_id not in tables:
        raise StreamTableNotFound(name=meta.name, nearest=DROPPED)
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
        definition_id = _definition_id(warehouse, each)
        # Catalog first: a half-dropped stream table must not be refreshed again.
        catalog.delete(each.id)
        shutil.rmtree(each.path, ignore_errors=True)
        discard_view(warehouse, each.table_id, each.name)
        if definition_id is not None:
            warehouse.forget(definition_id)
        dropped.append(str(each.name))
        _log.info("%s dropped", each.name, extra={"stream_table": str(each.name), "event": "dropped"})
    return dropped


def _definition_id(warehouse: Warehouse, meta: StreamTableMeta) -> str | None:
    """The id of a stream table's definition; None if its storage is away or half rebuilt."""
    try:
        return warehouse.definition(meta).id
    except (PenstockError, KeyError, ValueError):
        return None
