"""Stream tables with their upstreams, at one version vector.

    begin     base tables are pinned once; all tables to which nothing happened advance in one catalog transaction
    the rest  each as soon as its upstreams are done, independent ones side by side

The graph run says what to do with each; this module carries it out, on Spark and in the catalog.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from penstock.catalog.model import Action, Dependency, SourceType, Status, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.engine.spark.calls import cancel_jobs
from penstock.engine.spark.registry import forget_cached, register_view
from penstock.engine.spark.threads import spark_threads
from penstock.errors import PenstockError, StreamTableNotFound, TableBusy
from penstock.graph.dag import StreamGraph
from penstock.graph.order import order_refreshes
from penstock.graph.side_by_side import work_side_by_side
from penstock.names import Frontier
from penstock.refresh.attempt import Quiet
from penstock.refresh.copied_sources import copied_ids, readers_of_two_copies
from penstock.refresh.define import Redefinition
from penstock.refresh.graph_run import Arrival, GraphPart, GraphRun, Skip, StayPut
from penstock.refresh.keep_names import keep_names
from penstock.refresh.lease import PATIENCE
from penstock.refresh.listener import listener
from penstock.refresh.record import expected_action
from penstock.refresh.result import RefreshResult, Report
from penstock.refresh.run import RefreshRequest
from penstock.refresh.warehouse import Warehouse


def run_graph(
    warehouse: Warehouse,
    targets: Iterable[StreamTableMeta],
    stamp: datetime,
    report: Report | None = None,
    isolate: bool = False,
    redefinition: Redefinition | None = None,
) -> list[RefreshResult]:
    """Refresh the targets and everything upstream of them, as of a moment; results upstreams first, ties by name.

    With `isolate`, as for cron: the error of one table is its result and blocks its consumers only, an abnormal number
    of changes is such an error, and a table on which another worker is at work is left to it. Otherwise an error is
    raised, an abnormal number of changes is applied, and what is in error upstream is tried again. With a
    `redefinition` of the target, the rows of its new definition take the place of the old ones.
    """
    wanted = frozenset(meta.table_id for meta in targets)
    if not isolate:
        wanted |= _in_error(warehouse.catalog, wanted)
    graph_run = begin(warehouse, wanted, stamp, redefinition=redefinition)
    guarded = listener(report)
    failed: dict[str, RefreshResult] = {}

    def bring(key: str) -> None:
        patience = timedelta(0) if isolate else PATIENCE
        outcome = carry_out(warehouse, graph_run, key, guarded, patience, fused=isolate)
        graph_run.arrived[key] = outcome.arrival
        if outcome.error is not None:
            if not isolate:
                raise outcome.error
            if (result := _failed(warehouse, graph_run, key, outcome.error)) is not None:
                failed[key] = result

    work_side_by_side(
        graph_run.left(),
        graph_run.part.graph.sources,
        bring,
        warehouse.settings.max_concurrent_refreshes,
        spark_threads(warehouse.spark),
        cancel_jobs,
    )
    return _results(graph_run, failed)


def _in_error(catalog: CatalogReader, wanted: frozenset[str]) -> frozenset[str]:
    """What is in error upstream of the wanted: a refresh by hand tries that, too."""
    found, _ = catalog.upstream_part(wanted)
    return frozenset(meta.table_id for meta in found if meta.status is Status.ERROR)


def pin_part(warehouse: Warehouse, wanted: Iterable[str], redefinition: Redefinition | None = None) -> GraphPart:
    """The wanted stream tables with everything upstream of them; pins the base tables."""
    catalog, logs = warehouse.catalog, warehouse.logs
    keep_names(warehouse)
    if redefinition is None:
        found, dependencies = catalog.upstream_part(wanted)
    else:
        found, dependencies = _redefined_part(catalog, redefinition)
    tables = {meta.table_id: meta for meta in found}
    graph = StreamGraph.build(found, dependencies)
    versions, moved, seen = dict[str, int](), dict[str, str](), set[tuple[str, str]]()
    for dependency in dependencies:
        source, path = dependency.source_id, dependency.source_path
        if dependency.source_type is SourceType.TABLE and path and (source, path) not in seen:
            seen.add((source, path))
            if warehouse.has_moved(dependency.source_name, path):
                moved[source] = dependency.source_name
            try:
                versions[source] = logs.at(path).latest_version()
            except (PenstockError, OSError):
                # Gone, or out of reach: its readers fail with the reason, and no other table does.
                continue
    copies: dict[str, tuple[str, str]] = {}
    if copied := copied_ids(dependencies, found):
        versions = {source: version for source, version in versions.items() if source not in copied}
        # A reader of a source where it was goes on to where it is now.
        copies = readers_of_two_copies(tables, graph, [each for each in dependencies if each.source_id not in moved])
    order = tuple(node.key for node in order_refreshes(graph, tables))
    return GraphPart(tables, graph, order, versions, moved, copies)


def _redefined_part(
    catalog: CatalogReader, redefinition: Redefinition
) -> tuple[list[StreamTableMeta], list[Dependency]]:
    """What `upstream_part` would give of a table if its new definition were in force."""
    reads = [each.source_id for each in redefinition.dependencies if each.source_type is SourceType.STREAM_TABLE]
    found, dependencies = catalog.upstream_part(reads)
    meta = catalog.get_by_table_id(redefinition.table_id)
    own = [replace(each, stream_table_id=meta.id) for each in redefinition.dependencies]
    return [*found, meta], [*dependencies, *own]


def begin(
    warehouse: Warehouse,
    wanted: frozenset[str],
    stamp: datetime,
    resting: frozenset[str] = frozenset(),
    redefinition: Redefinition | None = None,
) -> GraphRun:
    """A graph run to the newest versions, on which every table to which nothing happened has arrived already."""
    part = pin_part(warehouse, wanted, redefinition)
    graph_run = GraphRun(part, wanted, stamp, resting, redefinition)
    refresher, found = warehouse.refresher, dict[str, Quiet]()
    there: dict[str, Arrival] = {}
    for key in graph_run.part.order:
        pins = graph_run.pins(key, there) if graph_run.may_run(key) and graph_run.definition_for(key) is None else None
        checked = refresher.check(graph_run.part.tables[key], pins) if pins is not None else None
        if isinstance(checked, Quiet):
            found[key] = checked
            there[key] = graph_run.arrival(checked.surveyed.after, checked.version)
        elif checked is not None:
            graph_run.surveyed[key] = checked
    # A table on which another worker is at work now is left to a refresh of its own. Its quiet consumers are
    # right all the same: they read the version that was looked at here, and that one shows the pins.
    advanced = warehouse.recorder.quiet(list(found.values()))
    for key in found:
        if (result := advanced.get(graph_run.part.tables[key].id)) is not None:
            graph_run.arrived[key] = replace(there[key], result=result)
    return graph_run


@dataclass(frozen=True)
class Outcome:
    """What became of one table of a graph run."""

    arrival: Arrival
    error: PenstockError | None = None


def carry_out(
    warehouse: Warehouse,
    graph_run: GraphRun,
    key: str,
    report: Report | None = None,
    patience: timedelta = PATIENCE,
    fused: bool = False,
) -> Outcome:
    """Do what the graph run says to do with a table whose upstreams have arrived. An error is in history, and here.

    `patience` is for another worker on the same table; with `fused`, an abnormal number of changes is not applied.
    """
    meta, step = graph_run.part.tables[key], graph_run.next_step(key)
    if isinstance(step, Skip):
        return Outcome(Arrival(warehouse.recorder.skipped(meta, step, graph_run.stamp), blocked=True))
    if isinstance(step, StayPut):
        return Outcome(Arrival(blocked=True))
    try:
        wanted = graph_run.definition_for(key)
        request = RefreshRequest(meta, step.pins, graph_run.surveyed.get(key), wanted, patience, fused)
        result = warehouse.refresher.refresh(request, report)
        # At once, because its consumers are bound to the view. A table without rows may have been redefined.
        if result.action is Action.REINITIALIZE or not meta.is_populated:
            register_view(warehouse.spark, warehouse.definition(meta), meta.path)
        if result.rows_inserted or result.rows_deleted:
            forget_cached(warehouse.spark, meta.name)
    except PenstockError as error:
        return Outcome(Arrival(blocked=True), error)
    frontier = result.frontier or Frontier({})
    strangers = _strangers(warehouse.catalog, frontier.sources.keys() - graph_run.part.graph.sources[key])
    return Outcome(graph_run.arrival(frontier, result.version, result, strangers))


def _strangers(catalog: CatalogReader, sources: Set[str]) -> frozenset[str]:
    """Those of the sources that are stream tables; asked only of sources that a graph run did not expect."""
    return (
        frozenset(meta.table_id for meta in catalog.get_all() if meta.table_id in sources) if sources else frozenset()
    )


def _results(graph_run: GraphRun, failed: Mapping[str, RefreshResult]) -> list[RefreshResult]:
    """What was done or failed, each with what was done for its upstreams."""
    done = {key: failed.get(key, graph_run.arrived[key].result) for key in graph_run.part.order}
    found = []
    for key, result in done.items():
        if result is not None:
            upstream = tuple(each for up in graph_run.part.upstreams(key) if (each := done[up]) is not None)
            found.append(replace(result, upstream=upstream))
    return found


def _failed(warehouse: Warehouse, graph_run: GraphRun, key: str, error: PenstockError) -> RefreshResult | None:
    """An error as a result; None if the table was dropped in between."""
    meta = graph_run.part.tables[key]
    if isinstance(error, StreamTableNotFound):
        return None
    if isinstance(error, TableBusy):
        return warehouse.recorder.skipped(meta, Skip(error.condition, error.text), graph_run.stamp)
    return RefreshResult.unmoved(meta, expected_action(meta), error.condition, error.text, error)
