"""Before a stream table gets another query, the error names the stream tables that could then no longer read it.

A reader whose text names the stream table is analysed over the columns that it would have. One that reads it through a
view, or is a function in Python, breaks if a column goes that it uses.
"""

from __future__ import annotations

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.errors import InvalidName, PenstockError, QueryInvalid, ReadersBreak
from penstock.names import TableName
from penstock.refresh.warehouse import Warehouse


def guard_readers(warehouse: Warehouse, meta: StreamTableMeta, wanted: Definition) -> None:
    """ReadersBreak if a stream table could not read this one any more under its new definition."""
    now = warehouse.definition(meta)
    broken = {
        str(reader.name): why
        for reader in warehouse.catalog.consumers_of(meta.table_id)
        if (why := _why_broken(warehouse, reader, meta, now, wanted)) is not None
    }
    if broken:
        reasons = "; ".join(f"{name} ({why})" for name, why in broken.items())
        raise ReadersBreak(name=meta.name, readers=reasons)


def _why_broken(
    warehouse: Warehouse, reader: StreamTableMeta, meta: StreamTableMeta, now: Definition, wanted: Definition
) -> str | None:
    try:
        held = warehouse.definition(reader)
    except (PenstockError, KeyError, ValueError):
        # Its storage is away: there is nothing that could break now.
        return None
    if any(_is_named(each, held.database, meta.name) for each in held.reads):
        why = _why_refused(warehouse, held, meta.name, wanted)
        if why is not None and _why_refused(warehouse, held, meta.name, now) is not None:
            # Who cannot read it as it is loses nothing.
            return None
        return why
    kept = {stored.lower() for _, stored, _ in wanted.columns}
    visible = {stored: name for name, stored, _ in now.columns}
    gone = [
        visible[column]
        for each in warehouse.catalog.dependencies_of(reader.id)
        if each.source_id == meta.table_id
        for column in each.columns_used
        if column in visible and column.lower() not in kept
    ]
    return f"it uses {', '.join(gone)}" if gone else None


def _why_refused(warehouse: Warehouse, held: Definition, name: TableName, shows: Definition) -> str | None:
    try:
        warehouse.workspace(held).check_over(held.query, name, shows)
    except QueryInvalid as invalid:
        return str(invalid.facts["why"]).splitlines()[0]
    return None


def _is_named(text: str, database: str, name: TableName) -> bool:
    try:
        return TableName.parse(text, database) == name
    except InvalidName:
        # A path.
        return False
