"""Fresh reads: the rows as a refresh would leave them now, without writing.

Base tables are pinned once for all stream tables that are read together and for everything upstream of them. A stream
table to which nothing happened is read as it is stored. Otherwise the delta since its frontier is computed as a refresh
would, and laid over the stored rows: a bag adds up, a keyed table takes the new row of every touched key. Over an
upstream that is not stored at the pins there is no delta to be read: then the query is run over the upstream's fresh
rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.catalog.model import Action, StreamTableMeta
from penstock.engine.bind.pinned_query import folder
from penstock.engine.delta.definition import Definition
from penstock.engine.failures.data_errors import data_errors
from penstock.engine.run.change_rows import overlaid
from penstock.engine.spark.registry import stored_rows_at
from penstock.refresh.attempt import Attempt, Quiet
from penstock.refresh.run_graph import pin_part
from penstock.refresh.stages.compute import compute_delta
from penstock.refresh.stages.pin import Pins
from penstock.refresh.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class _Fresh:
    """A stream table at the pins: in its storage at a version, or as rows."""

    definition: Definition
    path: str
    version: int | None
    rows: DataFrame | None


def fresh_rows(warehouse: Warehouse, metas: Iterable[StreamTableMeta]) -> list[DataFrame]:
    """The rows of stream tables as of one moment, which is now."""
    wanted = [meta.table_id for meta in metas]
    part = pin_part(warehouse, wanted)
    stamp = warehouse.now()
    found: dict[str, _Fresh] = {}
    for key in part.order:
        upstreams = {each: found[each] for each in part.graph.sources[key] if each in found}
        shown = {each: held.version for each, held in upstreams.items() if held.version is not None}
        pins = Pins({**part.versions, **shown}, stamp, moved=part.moved, copies=part.copies.get(key))
        pins.require_one_copy()
        moved = {each: held for each, held in upstreams.items() if held.version is None}
        fresh = _over(warehouse, part.tables[key], pins, moved) if moved else _at(warehouse, part.tables[key], pins)
        if fresh.rows is not None and part.graph.consumers[key] & set(part.order):
            # Computed once and under its own settings, whatever session its consumers are computed in.
            with data_errors(str(part.tables[key].name)):
                fresh = _Fresh(fresh.definition, fresh.path, None, fresh.rows.localCheckpoint())
        found[key] = fresh
    return [_frame(warehouse, found[key]) for key in wanted]


def _frame(warehouse: Warehouse, fresh: _Fresh) -> DataFrame:
    if fresh.rows is not None:
        return fresh.rows
    assert fresh.version is not None
    return stored_rows_at(warehouse.spark, fresh.definition, fresh.path, fresh.version)


def _at(warehouse: Warehouse, meta: StreamTableMeta, pins: Pins) -> _Fresh:
    """A stream table whose upstreams are stored at the pins."""
    found = warehouse.refresher.check(meta, pins)
    if isinstance(found, Quiet):
        return _Fresh(found.surveyed.definition, meta.path, found.version, None)
    attempt = Attempt(meta)
    with ExitStack() as until:
        decided = warehouse.refresher.decide(attempt, pins, until, found)
        pinned, plan, decision = decided.pinned, decided.plan, decided.decision
        workspace, definition = decided.planned.workspace, pinned.definition
        path, version = pinned.storage.path, pinned.state.version
        if decision.action is Action.NO_DATA:
            return _Fresh(definition, path, version, None)
        computed = compute_delta(decided, attempt.timed, until) if decision.action is Action.INCREMENTAL else None
        if computed is None:
            versions = {source.path: decided.interval.after.version(source.id) for source in plan.bound.sources}
            rows = workspace.witnessed(definition.query, definition.columns, versions, pins.data_timestamp)
            return _Fresh(definition, path, None, rows)
        if computed.write is None:
            return _Fresh(definition, path, version, None)
        with data_errors(str(meta.name)):
            rows = overlaid(workspace, definition, plan.store, path, version, computed.write.change)
        return _Fresh(definition, path, None, rows)


def _over(warehouse: Warehouse, meta: StreamTableMeta, pins: Pins, moved: Mapping[str, _Fresh]) -> _Fresh:
    """A stream table some of whose upstreams exist at the pins only as rows."""
    definition = warehouse.definition(meta)
    workspace = warehouse.workspace(definition)
    instead = {folder(held.path): (held.definition, held.rows) for held in moved.values() if held.rows is not None}
    versions = {
        warehouse.logs.folder(kept): pins.versions[source]
        for source, kept in definition.sources.items()
        if source in pins.versions and source not in moved
    }
    with workspace.alone():
        rows = workspace.witnessed_over(definition.query, definition.columns, versions, pins.data_timestamp, instead)
    return _Fresh(definition, meta.path, None, rows)
