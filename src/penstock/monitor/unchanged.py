"""Whether anything has happened to what the rows of a stream table come from, since they were computed.

    unchanged(t)  =  a refresh of t would find nothing to do  ∧  unchanged(u)    for every stream table u that t reads

Such rows are right, however old they are. The Delta logs alone decide. The question starts no session; while there is
none, views and functions, which only a session knows, count as changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.catalog.model import Dependency, StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.refresh.stages.pin import PinnedForReading, Pins
from penstock.refresh.stages.survey import DependenciesOf, Reason
from penstock.refresh.warehouse import Warehouse


class UnchangedByLogs:
    """Answers for one report: asks the catalog nothing, and looks at a stream table once, however many read it."""

    def __init__(
        self, warehouse: Warehouse, tables: Iterable[StreamTableMeta], dependencies: Iterable[Dependency]
    ) -> None:
        """All stream tables, and what they read."""
        self._warehouse = warehouse
        self._tables = {each.table_id: each for each in tables}
        self._reads: dict[int, list[Dependency]] = {each.id: [] for each in self._tables.values()}
        for each in dependencies:
            # The two lists may have been read around a drop.
            if each.stream_table_id in self._reads:
                self._reads[each.stream_table_id].append(each)
        self._still: dict[str, bool] = {}

    def __call__(self, meta: StreamTableMeta) -> bool:
        """True if nothing that its rows come from has changed, through all its upstreams to the base tables."""
        waiting, seen = [meta.table_id], {meta.table_id}
        while waiting:
            key = waiting.pop()
            if key not in self._still:
                self._still[key] = self._is_still(self._tables[key])
            if not self._still[key]:
                return False
            reads = {each.source_id for each in self._reads[self._tables[key].id]} & self._tables.keys() - seen
            waiting += reads
            seen |= reads
        return True

    def _is_still(self, meta: StreamTableMeta) -> bool:
        try:
            found = storage_state(self._warehouse.logs.at(meta.path))
            definition = Definition.from_json(found.definition)
        except Exception:
            return False
        if (definition.views or definition.functions) and not self._warehouse.has_started:
            return False
        return found.table_id == meta.table_id and surveyed(self._warehouse, meta, found, self._reads.__getitem__)[1]


def surveyed(
    warehouse: Warehouse, meta: StreamTableMeta, found: StorageState, dependencies: DependenciesOf | None = None
) -> tuple[Reason | None, bool]:
    """What a refresh would find: what makes it rebuild, and whether nothing happened, so that the rows are exact.

    The catalog is asked what the stream table reads, unless the caller knows.
    """
    try:
        definition = Definition.from_json(found.definition)
        situation = warehouse.refresher.survey(
            PinnedForReading(meta, definition, found, Pins({}, warehouse.now())), dependencies=dependencies
        )
    except Exception:
        # Whatever it is, a Spark that is gone included: a source that cannot be read is a finding of its own, and who
        # asks for the health of a warehouse is answered.
        return None, False
    ours = definition.hash == meta.definition_hash and found.unset is None and situation.before is not None
    still = situation.rebuild is None and not situation.data_changed and not definition.volatile
    return situation.rebuild, ours and still
