"""Whether anything has happened to what the rows of a stream table come from, since they were computed.

    unchanged(t)  =  a refresh of t would find nothing to do  ∧  unchanged(u)    for every stream table u that t reads

Such rows are right, however old they are. The Delta logs alone decide. The question starts no session; while there is
none, views and functions, which only a session knows, count as changed.
"""

from __future__ import annotations

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.errors import PenstockError
from penstock.refresh.stages.pin import Pins, Seen
from penstock.refresh.warehouse import Warehouse


def is_unchanged(warehouse: Warehouse, meta: StreamTableMeta) -> bool:
    """True if nothing that its rows come from has changed, through all its upstreams to the base tables."""
    tables = {each.table_id: each for each in warehouse.catalog.get_all()}
    waiting, seen = [meta], {meta.table_id}
    while waiting:
        each = waiting.pop()
        if not _is_still(warehouse, each):
            return False
        reads = [read.source_id for read in warehouse.catalog.dependencies_of(each.id)]
        waiting += [tables[source] for source in reads if source in tables and source not in seen]
        seen.update(reads)
    return True


def _is_still(warehouse: Warehouse, meta: StreamTableMeta) -> bool:
    try:
        found = storage_state(warehouse.logs.at(meta.path))
        definition = Definition.from_json(found.definition)
    except (PenstockError, KeyError, ValueError):
        return False
    if (definition.views or definition.functions) and not warehouse.has_started:
        return False
    return found.table_id == meta.table_id and surveyed(warehouse, meta, found)[1]


def surveyed(warehouse: Warehouse, meta: StreamTableMeta, found: StorageState) -> tuple[tuple[str, str] | None, bool]:
    """What a refresh would find: what makes it rebuild, and whether nothing happened, so that the rows are exact."""
    try:
        definition = Definition.from_json(found.definition)
        situation = warehouse.refresher.survey(Seen(meta, definition, found, Pins({}, warehouse.now())))
    except (PenstockError, KeyError, ValueError):
        # A source that cannot be read is a finding of its own.
        return None, False
    ours = definition.hash == meta.definition_hash and found.unset is None and situation.before is not None
    still = situation.rebuild is None and not situation.data_changed and not definition.volatile
    return situation.rebuild, ours and still
