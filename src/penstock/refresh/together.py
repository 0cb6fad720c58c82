"""A stream table with its upstreams, at one version vector.

Base tables are pinned once for the whole upstream graph; then every stream table on the way is brought to that vector,
upstreams first, and read by its consumers at the storage version that shows it. So all paths to a base table agree on
its version. A suspended or failed upstream leaves its consumers where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from penstock.catalog.model import Action, RefreshRecord, RefreshStatus, SourceType, Status, StreamTableMeta
from penstock.catalog.owner import current_owner
from penstock.catalog.writer import CatalogWriter
from penstock.engine.workspace import Logs
from penstock.errors import PenstockError, SourceMissing
from penstock.graph.dag import StreamGraph
from penstock.graph.order import order_refreshes
from penstock.refresh.result import RefreshResult, Report
from penstock.refresh.run import Refresher
from penstock.refresh.survey import Pins


def refresh_together(
    catalog: CatalogWriter,
    refresher: Refresher,
    logs: Logs,
    targets: Iterable[StreamTableMeta],
    now: Callable[[], datetime],
    report: Report | None = None,
    isolate: bool = False,
) -> list[RefreshResult]:
    """Refresh the targets and everything upstream of them; results in the order in which they ran.

    With `isolate`, the error of one table is kept in history and blocks its consumers only; else it is raised.
    """
    wanted = {meta.table_id: meta for meta in targets}
    tables = {meta.table_id: meta for meta in catalog.get_all()}
    dependencies = catalog.all_dependencies()
    graph = StreamGraph.build(tables.values(), dependencies)
    due = set(wanted)
    for key in wanted:
        due |= {upstream for upstream in graph.upstream(key) if upstream in tables}
    stamp = now()
    versions: dict[str, int] = {}
    for dependency in dependencies:
        reader = next((meta for meta in tables.values() if meta.id == dependency.stream_table_id), None)
        if reader is None or reader.table_id not in due or dependency.source_type is not SourceType.TABLE:
            continue
        if dependency.source_path and dependency.source_id not in versions:
            try:
                versions[dependency.source_id] = logs.at(dependency.source_path).latest_version()
            except SourceMissing:
                # The refresh of the table that reads it says so, with the table's name.
                continue
    results: list[RefreshResult] = []
    blocked: set[str] = set()
    shown: dict[str, dict[str, int]] = {}
    for node in order_refreshes(graph, due):
        meta = tables[node.key]
        held_up = [key for key in graph.upstream(node.key) if key in blocked]
        asked_for = node.key in wanted
        if held_up or (meta.status in {Status.SUSPENDED, Status.ERROR} and not asked_for):
            blocked.add(node.key)
            if held_up:
                why = f"waiting for {', '.join(sorted(str(tables[key].name) for key in held_up))}"
                results.append(_skipped(catalog, meta, "UPSTREAM_BLOCKED", why, stamp))
            continue
        agreed = _agreed([shown[key] for key in graph.sources[node.key] if key in shown])
        if agreed is None:
            blocked.add(node.key)
            why = "its upstreams show different versions of one table; another worker is ahead of this refresh"
            results.append(_skipped(catalog, meta, "INCONSISTENT_PINS", why, stamp))
            continue
        try:
            result = refresher.refresh(meta, Pins({**versions, **agreed}, stamp), report)
        except PenstockError:
            if not isolate:
                raise
            blocked.add(node.key)
            continue
        results.append(
            replace(result, upstream=tuple(each for each in results if _feeds(graph, each, node.key, tables)))
        )
        if result.version is not None:
            versions[node.key] = result.version
        read = result.frontier.sources if result.frontier is not None else {}
        bases = {source: held.version for source, held in read.items() if source not in tables}
        shown[node.key] = {**agreed, **bases}
    return results


def _agreed(vectors: Iterable[Mapping[str, int]]) -> dict[str, int] | None:
    """The base table versions that the upstreams show; None if two of them disagree on one."""
    agreed: dict[str, int] = {}
    for vector in vectors:
        for source, version in vector.items():
            if agreed.setdefault(source, version) != version:
                return None
    return agreed


def _feeds(graph: StreamGraph, result: RefreshResult, key: str, tables: dict[str, StreamTableMeta]) -> bool:
    return any(str(tables[each].name) == result.name for each in graph.upstream(key) if each in tables)


def _skipped(catalog: CatalogWriter, meta: StreamTableMeta, code: str, why: str, stamp: datetime) -> RefreshResult:
    catalog.record_refresh(
        RefreshRecord(
            refresh_id=f"skip-{meta.id}-{stamp.timestamp():.6f}",
            stream_table_id=meta.id,
            name=str(meta.name),
            action=Action.SKIP,
            status=RefreshStatus.SKIPPED,
            started_at=stamp,
            ended_at=stamp,
            data_timestamp=meta.data_timestamp or stamp,
            reason=f"{code}: {why}",
            owner=current_owner(),
        )
    )
    return RefreshResult(
        name=str(meta.name),
        action=Action.SKIP,
        reason_code=code,
        reason=why,
        rows_inserted=0,
        rows_deleted=0,
        frontier=meta.frontier,
        data_timestamp=meta.data_timestamp,
        version=meta.frontier_version,
        seconds=0.0,
    )
