"""The names of stream tables stand for their stored rows: Penstock undoes what others did to them in Spark's catalog.

Refreshes, statements, definitions and status reports check the names first; while nothing has changed that is one
question per schema. Every name that had to be restored raises the alert `name_taken`, and what others had put there is
not lost: a table gets another name, the text of a view is in the alert.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from penstock.catalog.model import Alert, AlertEvent, StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.spark.held_names import Held, held_under, set_aside, stamp
from penstock.engine.spark.register_without_reading import register_schema
from penstock.engine.spark.registry import is_forgetful, restore_view, view_text_of
from penstock.errors import PenstockError
from penstock.names import TableName
from penstock.refresh.restore_names import drop_left_over
from penstock.refresh.share_names import pull_names, push_names
from penstock.refresh.warehouse import Warehouse


def keep_names(warehouse: Warehouse) -> list[TableName]:
    """Restore the names that others have taken, and return those; starts no session."""
    if not warehouse.has_started:
        return []
    pull_names(warehouse)
    taken: list[TableName] = []
    by_schema: dict[str, list[StreamTableMeta]] = {}
    for meta in warehouse.catalog.get_all():
        by_schema.setdefault(meta.name.schema, []).append(meta)
    # Two threads must not both restore a name, and tell of it twice.
    with warehouse.naming:
        for schema, tables in by_schema.items():
            if _seen(warehouse, schema, tables) != warehouse.names_seen.get(schema):
                taken += [meta.name for meta in tables if _keep(warehouse, meta)]
                warehouse.names_seen[schema] = _seen(warehouse, schema, tables)
        _drop_left_over(warehouse, {meta.table_id for tables in by_schema.values() for meta in tables})
    return taken


def _seen(warehouse: Warehouse, schema: str, tables: Sequence[StreamTableMeta]) -> tuple[object, ...]:
    names = [meta.name.table for meta in tables]
    return *(meta.table_id for meta in tables), stamp(warehouse.spark, schema, names)


def _keep(warehouse: Warehouse, meta: StreamTableMeta) -> bool:
    """True if others had taken the name."""
    held = held_under(warehouse.spark, meta.name)
    try:
        definition = warehouse.definition(meta)
    except (PenstockError, KeyError, ValueError):
        # Its storage is away or half rebuilt: its next refresh says what is wrong, or finishes the rebuild.
        return False
    if held is not None and held.is_view and held.text == view_text_of(definition, meta.path):
        warehouse.named[meta.table_id] = meta.name
    elif held is not None and held.is_ours:
        # Another process has redefined it. Until its rows are rebuilt the view of the old ones is the right one.
        if not meta.needs_reinit:
            restore_view(warehouse.spark, definition, meta.path)
    elif (now := warehouse.catalog.find(meta.name)) is not None and now.table_id == meta.table_id:
        return _restore(warehouse, meta, definition, held)
    return False


def _restore(warehouse: Warehouse, meta: StreamTableMeta, definition: Definition, held: Held | None) -> bool:
    spark, facts = warehouse.spark, dict[str, str | int | float | bool | None]()
    was_there = meta.table_id in warehouse.named or (meta.is_populated and not is_forgetful(spark))
    if held is None:
        facts["found"] = "nothing"
        register_schema(spark, meta.name.schema)
    elif held.is_view:
        facts |= {"found": "a view", "text": held.text}
    else:
        facts["found"] = "a table"
        if (aside := set_aside(spark, meta.name)) is not None:
            facts["now_called"] = str(aside)
            push_names(warehouse)
    facts["restored"] = restore_view(spark, definition, meta.path)
    if facts["restored"]:
        warehouse.named[meta.table_id] = meta.name
    # A name that this process has not seen yet is new to it, made by another one.
    is_taken = held is not None or was_there
    if is_taken:
        warehouse.tell(Alert(AlertEvent.NAME_TAKEN, str(meta.name), warehouse.now(), facts))
    return is_taken


def _drop_left_over(warehouse: Warehouse, there: Set[str]) -> None:
    """Drop the views of stream tables that another process has dropped."""
    for gone in warehouse.named.keys() - there:
        if (name := warehouse.named.pop(gone, None)) is not None:
            drop_left_over(warehouse, name)
