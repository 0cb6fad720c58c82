"""Weighing a refresh before it runs: its size, from the logs alone, against what past runs took."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.catalog.model import StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.compile.plan import Plan
from penstock.engine.delta.interval import ROW_BYTES, ChangeSet
from penstock.engine.delta.snapshot import Snapshot
from penstock.operators.delta_query import DeltaQuery
from penstock.refresh.stages.cost import FEW, RUNS, Choice, Size, choose
from penstock.settings import Settings


def weigh(
    catalog: CatalogReader,
    settings: Settings,
    meta: StreamTableMeta,
    plan: Plan,
    change_sets: Mapping[str, ChangeSet],
    stored: Snapshot,
    supposed: int | None = None,
) -> Choice | None:
    """What both modes would cost over these changes; None if the query has no delta rules or nothing changed.

    With `supposed`, the costs are those of that number of changed rows.
    """
    moved = frozenset(source for source, change in change_sets.items() if change.data_changed or supposed is not None)
    if not plan.incremental or not moved:
        return None
    query = DeltaQuery(moved=moved)
    plan.store.change(query)
    size = Size(
        changed=sum(change_sets[source].rows_estimate for source in moved) if supposed is None else supposed,
        at_rest=sum(_rows(change.end) for change in change_sets.values()),
        stored=_rows(stored),
        statements=len(query.steps) + 1,
        changed_bytes=sum(change_sets[source].bytes for source in moved),
        at_rest_bytes=sum(change.end.bytes for change in change_sets.values()),
        stored_bytes=stored.bytes,
        operators=frozenset(plan.operators),
        driver_rows=settings.delta_rs_max_rows,
    )
    mine = catalog.effective_runs(meta.id, RUNS)
    # Others are worth asking as long as there is little to go by.
    others = catalog.runs_of_others(meta.id, RUNS) if len(mine) < FEW else []
    return choose(size, mine, settings.probe_percent, others, settings.learn_costs)


def _rows(snapshot: Snapshot) -> int:
    return snapshot.bytes // ROW_BYTES if snapshot.rows is None else snapshot.rows
