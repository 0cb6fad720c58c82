"""Second stage: where the stored rows stand, how far the sources moved, and whether the rows must be rebuilt.

A survey reads logs and metadata and starts no Spark job. It never reads a source at an older version than before: if
another worker has already gone further than the pins, that version is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from penstock.catalog.model import Dependency, StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.drift_verdict import Continue, classify_drift
from penstock.engine.delta.interval import ChangeSet, classify
from penstock.engine.delta.readable import require_readable
from penstock.engine.run.workspace import Logs
from penstock.engine.write.storage_state import StorageState
from penstock.errors import FrontierLost, QueryInvalid, SourceMissing
from penstock.names import Frontier, SourceVersion
from penstock.refresh.stages.pin import PinnedForReading, Pins
from penstock.refresh.stored_frontier import stored_frontier

Reason = tuple[str, str]
"""Reason code and text."""

DependenciesOf = Callable[[int], Sequence[Dependency]]
"""Of a stream table in the catalog, by id: what it reads, under which names."""


@dataclass(frozen=True)
class SurveyInputs:
    """The questions that a survey asks, and the logs that it reads."""

    logs: Logs
    dependencies: DependenciesOf
    view_hash: Callable[[str], str]
    """A hash of a view's present text."""
    function_hash: Callable[[str], str | None]
    """A hash of what a function does now; None if it is gone."""


@dataclass(frozen=True)
class Surveyed:
    """Where the stored rows stand, how far the sources moved, and whether the rows can be built upon."""

    definition: Definition
    before: Frontier | None
    after: Frontier
    paths: Mapping[str, str]
    """Source id → folder."""
    change_sets: Mapping[str, ChangeSet]
    rebuild: Reason | None
    cause: str | None = None
    """What makes it rebuild, as dependencies name it: a source's id, a view; or a function."""
    basis: tuple[object, ...] | None = None
    """What it was made from; while all of that is the same, the survey holds. None where no caller needs it."""

    @property
    def data_changed(self) -> bool:
        return any(change.data_changed for change in self.change_sets.values())

    @property
    def schemas(self) -> object:
        """Whatever a compiled plan depends on besides the definition."""
        return tuple((source, change.end.schema.json()) for source, change in sorted(self.change_sets.items()))


def survey(seen: PinnedForReading, inputs: SurveyInputs, earlier: Surveyed | None = None) -> Surveyed:
    """What a refresh of the stream table to its pins finds. QueryInvalid if a function that it calls is gone.

    An `earlier` survey with its basis is taken over if that is the same now, except for views and functions: those have
    no versions, so they are asked about again.
    """
    if earlier is not None and _still_holds(earlier, seen, inputs.logs):
        found = list(_of_meanings(seen.definition, inputs))
        return replace(earlier, rebuild=found[0][0], cause=found[0][1]) if found else earlier
    return _survey(seen, inputs)


def with_basis(surveyed: Surveyed, seen: PinnedForReading, logs: Logs) -> Surveyed:
    """The survey with its basis, so that a later one can take it over."""
    return replace(surveyed, basis=_basis(surveyed, seen, logs))


def _still_holds(earlier: Surveyed, seen: PinnedForReading, logs: Logs) -> bool:
    return earlier.rebuild is None and earlier.basis is not None and earlier.basis == _basis(earlier, seen, logs)


def _basis(surveyed: Surveyed, seen: PinnedForReading, logs: Logs) -> tuple[object, ...]:
    meta, state, paths = seen.meta, seen.state, surveyed.paths
    # A table that was dropped and made again counts from 0 too: its commits are other files.
    files = {source: logs.at(paths[source]).stamp(change.after) for source, change in surveyed.change_sets.items()}
    return (
        (meta.frontier, meta.frontier_version, meta.reinit_requests),
        (state.version, state.record, state.record_version, state.damaged),
        seen.definition,
        seen.pins,
        files,
    )


def _survey(seen: PinnedForReading, inputs: SurveyInputs) -> Surveyed:
    meta, definition, pins, logs = seen.meta, seen.definition, seen.pins, inputs.logs
    pins.require_one_copy()
    before = stored_frontier(meta, seen.state)
    reasons: list[tuple[Reason | None, str | None]] = [(_of_the_table(meta, definition, seen.state), None)]
    change_sets: dict[str, ChangeSet] = {}
    versions: dict[str, SourceVersion] = {}
    paths = {source: logs.folder(kept) for source, kept in definition.sources.items()}
    known = {each.source_id: each for each in inputs.dependencies(meta.id)} if paths else {}
    for source, path in paths.items():
        if source in pins.moved:
            # Its log, which may lie where it was, says nothing of that.
            reasons.append((("SOURCE_CHANGED", f"{pins.moved[source]} is another table now"), source))
            continue
        log, dependency = logs.at(path), known.get(source)
        name, used = (dependency.source_name, dependency.columns_used) if dependency is not None else (path, ())
        try:
            change, reason = changed_since(log, name, source, before, pins.versions)
        except SourceMissing:
            if not meta.needs_reinit:
                raise
            # The rebuild binds the name anew, which may stand for another table by now.
            continue
        if not used and not definition.reads:
            # It was defined before a query with no operator tree was asked what it uses.
            used = (*change.end.schema.names, *change.drift.dropped, *change.drift.renamed)
        reasons += [(reason, source), (_of_the_drift(change, source, name, used), source)]
        change_sets[source] = change
        versions[change.end.table_id] = SourceVersion(change.after, change.end.committed_at)
    # To the last, also where there is a reason already: a function that is gone is an error of the query.
    reasons += list(_of_meanings(definition, inputs))
    rebuild, cause = next(((reason, cause) for reason, cause in reasons if reason is not None), (None, None))
    return Surveyed(
        definition=definition,
        before=before,
        after=Frontier(versions, _later(pins.data_timestamp, before), _bases(versions, before, pins)),
        paths=paths,
        change_sets=change_sets,
        rebuild=rebuild,
        cause=cause,
    )


def _of_meanings(definition: Definition, inputs: SurveyInputs) -> Iterator[tuple[Reason, str]]:
    """Why the rows cannot be built upon: a view or a function that means something else now."""
    for view, held in definition.views.items():
        if inputs.view_hash(view) != held:
            yield ("VIEW_CHANGED", f"view {view} was redefined"), f"view:{view}"
    for name, held in definition.functions.items():
        if held and (reason := _of_the_function(name, held, inputs.function_hash)) is not None:
            yield reason, name


def _later(stamp: datetime, before: Frontier | None) -> datetime:
    """A data timestamp never moves back: another worker may have been here while this refresh waited."""
    shown = before.data_timestamp if before is not None else None
    return stamp if shown is None else max(stamp, shown)


def _bases(versions: Mapping[str, SourceVersion], before: Frontier | None, pins: Pins) -> Mapping[str, int] | None:
    """What the upstreams show at these versions; nothing is said where another worker was ahead of the pins."""
    if all(held.version == pins.versions.get(source) for source, held in versions.items()):
        return pins.bases
    return before.bases if before is not None and before.same_versions(Frontier(versions)) else None


def _of_the_table(meta: StreamTableMeta, definition: Definition, pin: StorageState) -> Reason | None:
    if pin.damaged:
        return "FOREIGN_WRITE", pin.damaged
    if meta.needs_reinit:
        return "ON_REQUEST", meta.reinit_reason or "a rebuild was asked for"
    if pin.record is not None and pin.record.definition_hash != definition.hash:
        return "DEFINITION_CHANGED", "the definition changed since the last refresh"
    return None


def _of_the_function(name: str, held: str, function_hash: Callable[[str], str | None]) -> Reason | None:
    now = function_hash(name)
    if now is None:
        raise QueryInvalid(
            why=f"function {name}, which it calls, is not there any more",
            fix="The stored rows stay. Define or register the function again in this session, then refresh; or give "
            "another query: ALTER STREAM TABLE … AS …",
        )
    return None if now == held else ("UDF_CHANGED", f"function {name} was redefined")


def changed_since(
    log: DeltaLog, name: str, source: str, before: Frontier | None, pinned: Mapping[str, int]
) -> tuple[ChangeSet, Reason | None]:
    """What happened to a source since the frontier up to its pinned version, or to its newest one; never back.

    Where the logs no longer say it: nothing, and why all rows must be computed anew.
    """
    after = pinned[source] if source in pinned else log.latest_version()
    start = before.version(source) if before is not None and source in before.sources else after
    if start > after and log.latest_version() >= start:
        after = start
    require_readable(log)
    try:
        return classify(log, start, after, source), None
    except FrontierLost as lost:
        return classify(log, after, after), ("FRONTIER_LOST", lost.text)
    except ValueError:
        return classify(log, after, after), ("SOURCE_CHANGED", f"{name} went back from version {start} to {after}")


def _of_the_drift(change: ChangeSet, source: str, name: str, used: tuple[str, ...]) -> Reason | None:
    if change.end.table_id != source:
        fate = "replaced" if change.drift.replaced else "dropped and created again"
        return "SOURCE_CHANGED", f"{name} was {fate}"
    if change.schema_change is None:
        return None
    verdict = classify_drift(change.drift, used)
    # Broken or not, the query has the last word: a star in a subquery may do without the column.
    return None if isinstance(verdict, Continue) else ("SOURCE_CHANGED", f"{verdict.reason} in {name}")
