"""Whether anything has happened to what the rows of a stream table come from, since they were computed.

    unchanged(t)  =  a refresh of t would find nothing to do  ∧  unchanged(u)    for every stream table u that t reads

Such rows are right, however long ago they were looked at. It is told by the logs; no session is started for the
question, and what only a session knows, views and functions, counts as changed while there is none.
"""

from __future__ import annotations

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.refresh.stages.pin import Pins, Seen
from penstock.refresh.warehouse import Warehouse


def is_unchanged(warehouse: Warehouse, meta: StreamTableMeta) -> bool:
    """True if nothing that its rows come from has changed, up to the tables that nobody computes."""
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
    except Exception:
        return False
    if (definition.views or definition.functions) and not warehouse.has_started:
        return False
    return found.table_id == meta.table_id and surveyed(warehouse, meta, found)[1]


def surveyed(warehouse: Warehouse, meta: StreamTableMeta, found: StorageState) -> tuple[tuple[str, str] | None, bool]:
    """What a refresh would find: what makes it rebuild, and whether nothing happened, so that the rows are exact."""
    try:
        definition = Definition.from_json(found.definition)
        situation = warehouse.refresher.survey(Seen(meta, definition, found, Pins({}, warehouse.now())))
    except Exception:
        # Whatever it is, a Spark that is gone included: a source that cannot be read is a finding of its own, and who
        # asks for the health of a warehouse is answered.
        return None, False
    ours = definition.hash == meta.definition_hash and found.unset is None and situation.before is not None
    still = situation.rebuild is None and not situation.data_changed and not definition.volatile
    return situation.rebuild, ours and still
