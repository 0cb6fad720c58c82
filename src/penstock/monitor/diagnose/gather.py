"""Gathering a case: the catalog, the logs of storage and sources, the leases; no Spark job, nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from penstock.catalog.model import SCHEDULER, Dependency, Lease, RefreshMode, SourceType, StreamTableMeta
from penstock.compile.plan import compile_query
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.interval import ChangeSet, classify
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.errors import FrontierLost, PenstockError, SourceMissing
from penstock.graph.cycles import way_back
from penstock.graph.dag import StreamGraph
from penstock.graph.lag import EffectiveLag, resolve_lags
from penstock.graph.order import without_circles
from penstock.layout.retention import holdings
from penstock.monitor.diagnose.case import Case, PendingSource
from penstock.monitor.unchanged import surveyed
from penstock.names import Frontier
from penstock.refresh.stored_frontier import stored_frontier
from penstock.refresh.warehouse import Warehouse

HISTORY = 50
"""The newest refreshes that a diagnosis reads."""


def gather(warehouse: Warehouse, meta: StreamTableMeta, minimum: timedelta) -> Case:
    """The case of a stream table, its upstreams included."""
    catalog = warehouse.catalog
    tables = catalog.get_all()
    graph = StreamGraph.build(tables, catalog.all_dependencies())
    ordered = without_circles(graph)
    lags = resolve_lags(ordered, minimum)
    return _case(warehouse, meta, _Around({each.table_id: each for each in tables}, lags, graph, ordered))


@dataclass(frozen=True, slots=True)
class _Around:
    """All stream tables, and who reads whom."""

    tables: Mapping[str, StreamTableMeta]
    lags: Mapping[str, EffectiveLag]
    graph: StreamGraph
    ordered: StreamGraph
    """Without circles, so that it can be walked."""


def _case(warehouse: Warehouse, meta: StreamTableMeta, around: _Around) -> Case:
    catalog, now = warehouse.catalog, warehouse.now()
    dependencies = catalog.dependencies_of(meta.id)
    found, lost = _storage_state(warehouse, meta)
    frontier = stored_frontier(meta, found) if found is not None else meta.frontier
    rebuild, quiet = surveyed(warehouse, meta, found) if found is not None else (None, False)
    return Case(
        meta=meta,
        now=now,
        allowed=around.lags[meta.table_id].lag,
        warnings=around.lags[meta.table_id].warnings,
        enabled=warehouse.settings.enabled,
        max_errors=warehouse.settings.max_consecutive_errors,
        paused=catalog.paused(),
        scheduler=_held(catalog.get_lease(SCHEDULER), catalog.now()),
        lease=_held(catalog.get_lease(meta.id), catalog.now()),
        history=tuple(catalog.recent_history(meta.name, HISTORY)),
        sources=tuple(
            _source(warehouse, each, frontier) for each in dependencies if each.source_type is not SourceType.VIEW
        ),
        quiet=quiet,
        rebuild=rebuild,
        circle=None if around.graph is around.ordered else way_back(around.graph, meta.table_id),
        storage_lost=lost,
        foreign=tuple(f"{each.operation} at version {each.version}" for each in found.foreign) if found else (),
        refusal=_refusal(warehouse, meta),
        opaque=_opaque(found),
        holdings=tuple(holdings(catalog, warehouse.logs, [meta])),
        upstreams=tuple(
            _case(warehouse, around.tables[each.source_id], around)
            for each in dependencies
            if each.source_id in around.tables and each.source_id in around.ordered.sources[meta.table_id]
        ),
    )


def _storage_state(warehouse: Warehouse, meta: StreamTableMeta) -> tuple[StorageState | None, str | None]:
    try:
        found = storage_state(warehouse.logs.at(meta.path))
    except PenstockError as gone:
        return None, gone.text
    if found.table_id != meta.table_id:
        return found, "another Delta table has taken its place"
    return found, None


def _refusal(warehouse: Warehouse, meta: StreamTableMeta) -> tuple[str, str, str] | None:
    """Why the query has no delta rule; asked of the compiler only where it is known to be recomputed."""
    if meta.effective_mode is not RefreshMode.FULL or meta.refresh_mode is RefreshMode.FULL:
        return None
    try:
        definition = warehouse.definition(meta)
        workspace = warehouse.workspace(definition)
        with workspace.alone():
            refused = compile_query(workspace.bind(definition.query), definition.key, definition.settings).refused
    except (PenstockError, KeyError, ValueError):
        return None
    return None if refused is None else (refused.reason, refused.construct, refused.advice)


def _opaque(found: StorageState | None) -> tuple[str, ...]:
    try:
        definition = Definition.from_json(found.definition) if found is not None else None
    except (KeyError, ValueError):
        return ()
    return tuple(name for name, held in definition.functions.items() if not held) if definition is not None else ()


def _held(lease: Lease | None, now: datetime) -> Lease | None:
    return lease if lease is not None and lease.expires_at > now else None


def _source(warehouse: Warehouse, source: Dependency, frontier: Frontier | None) -> PendingSource:
    held = frontier.sources.get(source.source_id) if frontier is not None else None
    version = held.version if held is not None else None
    try:
        log = warehouse.logs.at(source.source_path or "")
        newest = log.latest_version()
        if log.snapshot(newest).table_id != source.source_id:
            return PendingSource(source.source_name, version, newest)
        change: ChangeSet = classify(log, newest if version is None else version, newest)
    except FrontierLost:
        return PendingSource(source.source_name, version, newest)
    except SourceMissing as gone:
        return PendingSource(source.source_name, version, missing=gone.text)
    except PenstockError as error:
        return PendingSource(source.source_name, version, missing=error.text, advice=error.advice)
    except ValueError as error:
        return PendingSource(source.source_name, version, missing=str(error))
    return PendingSource(source.source_name, version, newest, change.rows_estimate)
