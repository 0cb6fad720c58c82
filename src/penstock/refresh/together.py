"""Stream tables with their upstreams, at one version vector.

Base tables are pinned once for the whole upstream graph; then every stream table on the way is brought to that vector,
upstreams first, and read by its consumers at the storage version that shows it. So all paths to a base table agree on
its version. A suspended or failed upstream leaves its consumers where they are.

    quiet     all tables to which nothing happened, from the logs alone, in one catalog transaction
    the rest  each as soon as its upstreams are done, independent ones side by side
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from penstock.catalog.model import Action, RefreshRecord, RefreshStatus, SourceType, Status, StreamTableMeta
from penstock.catalog.owner import current_owner
from penstock.catalog.writer import CatalogWriter
from penstock.engine.threads import spark_threads
from penstock.engine.workspace import Logs
from penstock.errors import PenstockError, SourceMissing
from penstock.graph.dag import StreamGraph
from penstock.graph.order import order_refreshes
from penstock.graph.side_by_side import work_side_by_side
from penstock.names import Frontier
from penstock.refresh.result import Progress, RefreshResult, Report
from penstock.refresh.run import Quiet
from penstock.refresh.survey import Pins
from penstock.refresh.warehouse import Warehouse


def refresh_together(
    warehouse: Warehouse,
    targets: Iterable[StreamTableMeta],
    stamp: datetime,
    report: Report | None = None,
    isolate: bool = False,
) -> list[RefreshResult]:
    """Refresh the targets and everything upstream of them, as of a moment; results upstreams first, ties by name.

    With `isolate`, the error of one table is kept in history and blocks its consumers only; else it is raised.
    """
    wanted = {meta.table_id for meta in targets}
    scene = Scene.of(warehouse.catalog, warehouse.logs, wanted)
    tour = _Tour(warehouse, scene, wanted, stamp, None if report is None else _one_at_a_time(report), isolate)
    tour.settle_quiet()
    tour.bring_the_rest()
    return tour.results()


@dataclass(frozen=True)
class Scene:
    """The stream tables that take part, in the order of their refreshes, and the versions of all base tables."""

    tables: Mapping[str, StreamTableMeta]
    """The stream tables that take part, by Delta table id."""
    graph: StreamGraph
    order: tuple[str, ...]
    versions: Mapping[str, int]
    """Base table → its newest version. One that is missing is left out: whoever reads it says so, with its name."""

    @classmethod
    def of(cls, catalog: CatalogWriter, logs: Logs, wanted: Iterable[str]) -> Scene:
        """The wanted stream tables with everything upstream of them; pins the base tables."""
        found, dependencies = catalog.upstream_part(wanted)
        tables = {meta.table_id: meta for meta in found}
        graph = StreamGraph.build(found, dependencies)
        versions: dict[str, int] = {}
        for dependency in dependencies:
            source, path = dependency.source_id, dependency.source_path
            if dependency.source_type is SourceType.TABLE and path and source not in versions:
                try:
                    versions[source] = logs.at(path).latest_version()
                except SourceMissing:
                    continue
        return cls(tables, graph, tuple(node.key for node in order_refreshes(graph, tables)), versions)

    def upstreams(self, key: str) -> list[str]:
        """The stream tables that one reads, directly or not, in the order of their refreshes."""
        reached = self.graph.upstream(key)
        return [each for each in self.order if each in reached] if reached & self.tables.keys() else []


@dataclass(frozen=True)
class Arrival:
    """How far one stream table came."""

    result: RefreshResult | None = None
    blocked: bool = False
    version: int | None = None
    """The storage version that its consumers read."""
    bases: Mapping[str, int] | None = None
    """Base table → the version that is shown, through whatever lies between; None if another worker went elsewhere."""


@dataclass
class _Tour:
    """One pass over a scene."""

    warehouse: Warehouse
    scene: Scene
    wanted: set[str]
    stamp: datetime
    report: Report | None
    isolate: bool
    arrived: dict[str, Arrival] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)
    """Tables that were found not to be quiet."""

    def settle_quiet(self) -> None:
        """Advance every table to which nothing happened, nor to any of its upstreams."""
        refresher, found = self.warehouse.refresher, dict[str, Quiet]()
        there: dict[str, Arrival] = {}
        for key in self.scene.order:
            pins = self._pins(key, there) if self._may_run(key) else None
            quiet = refresher.look(self.scene.tables[key], pins) if pins is not None else None
            if quiet is None and pins is not None:
                self.looked.add(key)
            elif quiet is not None:
                found[key] = quiet
                there[key] = self._arrival(quiet.situation.after, quiet.version)
        # A table that somebody else is working on right now is left to a refresh of its own. Its quiet consumers are
        # right all the same: they read the version that was looked at here, and that one shows the pins.
        settled = refresher.settle(list(found.values()))
        for key in found:
            if (result := settled.get(self.scene.tables[key].id)) is not None:
                self.arrived[key] = replace(there[key], result=result)

    def bring_the_rest(self) -> None:
        """Refresh what has not arrived yet."""
        work_side_by_side(
            [key for key in self.scene.order if key not in self.arrived],
            self.scene.graph.sources,
            self._bring,
            self.warehouse.settings.max_concurrent_refreshes,
            spark_threads(self.warehouse.spark),
        )

    def results(self) -> list[RefreshResult]:
        """What was done, each with what was done for its upstreams."""
        done = {key: self.arrived[key].result for key in self.scene.order}
        found = []
        for key, result in done.items():
            if result is not None:
                upstream = tuple(each for up in self.scene.upstreams(key) if (each := done[up]) is not None)
                found.append(replace(result, upstream=upstream))
        return found

    def _bring(self, key: str) -> None:
        self.arrived[key] = self._brought(key)

    def _brought(self, key: str) -> Arrival:
        meta, catalog = self.scene.tables[key], self.warehouse.catalog
        held_up = [each for each in self.scene.upstreams(key) if self.arrived[each].blocked]
        if held_up:
            why = f"waiting for {', '.join(sorted(str(self.scene.tables[each].name) for each in held_up))}"
            return Arrival(_skipped(catalog, meta, "UPSTREAM_BLOCKED", why, self.stamp), blocked=True)
        if not self._may_run(key):
            return Arrival(blocked=True)
        pins = self._pins(key, self.arrived)
        if pins is None:
            why = "its upstreams show different versions of one table; another worker is ahead of this refresh"
            return Arrival(_skipped(catalog, meta, "INCONSISTENT_PINS", why, self.stamp), blocked=True)
        try:
            result = self.warehouse.refresher.refresh(meta, pins, self.report, key in self.looked)
        except PenstockError:
            if not self.isolate:
                raise
            return Arrival(blocked=True)
        return replace(self._arrival(result.frontier or Frontier({}), result.version), result=result)

    def _may_run(self, key: str) -> bool:
        return key in self.wanted or self.scene.tables[key].status not in {Status.SUSPENDED, Status.ERROR}

    def _pins(self, key: str, arrived: Mapping[str, Arrival]) -> Pins | None:
        """What a table is to be brought to; None if an upstream is not there, or two of them disagree on a base."""
        upstreams = [each for each in self.scene.graph.sources[key] if each in self.scene.tables]
        if any(each not in arrived for each in upstreams):
            return None
        bases = _agreed(arrived[each].bases for each in upstreams)
        if bases is None:
            return None
        shown = {each: at for each in upstreams if (at := arrived[each].version) is not None}
        return Pins({**self.scene.versions, **bases, **shown}, self.stamp, bases if upstreams else None)

    def _arrival(self, frontier: Frontier, version: int | None) -> Arrival:
        return Arrival(version=version, bases=frontier.base_versions(self.scene.tables))


def _agreed(vectors: Iterable[Mapping[str, int] | None]) -> dict[str, int] | None:
    """The base table versions that the upstreams show; None if one is not known, or two of them disagree."""
    agreed: dict[str, int] = {}
    for vector in vectors:
        if vector is None:
            return None
        for source, version in vector.items():
            if agreed.setdefault(source, version) != version:
                return None
    return agreed


def _one_at_a_time(report: Report) -> Report:
    """Whoever listens need not know that several threads tell."""
    lock = threading.Lock()

    def told(progress: Progress) -> None:
        with lock:
            report(progress)

    return told


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
