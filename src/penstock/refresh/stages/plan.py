"""Third stage: the compiled plan of the query, and the survey over the tables that it reads now.

A plan made by an earlier refresh is good while definition and schemas are the same. A rebuild makes it anew, because
the query's tables, views and types may have changed; the graph is checked again then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.compile.bound import BoundQuery
from penstock.compile.plan import COMPILER, Plan
from penstock.engine.delta.definition import Definition, text_hash
from penstock.engine.delta.interval import ChangeSet, classify
from penstock.engine.failures.spark_errors import understood
from penstock.engine.run.workspace import Logs, Workspace
from penstock.errors import QueryInvalid, SourceMissing
from penstock.names import Frontier, SourceVersion
from penstock.refresh.stages.pin import Pinned
from penstock.refresh.stages.survey import Reason, Surveyed


@dataclass(frozen=True)
class Planned:
    """A pinned stream table with everything that its query needs to run."""

    pinned: Pinned
    surveyed: Surveyed
    """Over the tables that the query reads now."""
    workspace: Workspace
    plan: Plan
    rebuild: Reason | None
    """Why the stored rows cannot be built upon, if they cannot."""


def plan(
    pinned: Pinned,
    surveyed: Surveyed,
    workspace: Workspace,
    rebuild: Reason | None,
    check_graph: Callable[[BoundQuery], None],
) -> Planned:
    """The query compiled, in a workspace that this thread has for itself; `check_graph` refuses circles."""
    if rebuild is None or surveyed.before is None:
        compiled = _kept_or_made(workspace, pinned.definition, surveyed)
    else:
        compiled = _made_anew(workspace, pinned.definition, rebuild)
        check_graph(compiled.bound)
    return Planned(pinned, _over_its_sources(compiled, surveyed, pinned, workspace.logs), workspace, compiled, rebuild)


def describe(definition: Definition, plan: Plan, logs: Logs) -> Definition:
    """The definition with everything that follows from its plan."""
    return replace(
        definition,
        columns=tuple(
            (column.visible, column.name, column.type) for column in plan.store.columns if column.visible is not None
        ),
        weighted=plan.store.weighted,
        has_hidden_rows=plan.store.has_hidden_rows,
        sources={source.id: logs.kept(source) for source in plan.bound.sources},
        views={view: text_hash(text) for view, text in plan.bound.views},
        functions={name: text_hash(code) if code else "" for name, code in plan.bound.functions},
        volatile=plan.bound.volatile,
        compiler=COMPILER,
    )


def _kept_or_made(workspace: Workspace, definition: Definition, surveyed: Surveyed) -> Plan:
    try:
        return workspace.plan(definition.query, definition.key, definition.visible_columns, surveyed.schemas)
    except QueryInvalid as invalid:
        raise (_missing_source(invalid, definition) or invalid) from None


def _made_anew(workspace: Workspace, definition: Definition, rebuild: Reason) -> Plan:
    try:
        return workspace.plan_anew(definition.query, definition.key, definition.visible_columns)
    except QueryInvalid as invalid:
        if rebuild[0] == "ON_REQUEST" and (missing := _missing_source(invalid, definition)) is not None:
            raise missing from None
        other = f"ALTER STREAM TABLE {definition.name} AS …"
        raise QueryInvalid(
            why=f"{rebuild[1]}\n{invalid.facts['why']}",
            fix=f"The stored rows stay. Mend the source, or give another query: {other}",
        ) from invalid


def _missing_source(invalid: QueryInvalid, definition: Definition) -> SourceMissing | None:
    """The query could be analysed when it was defined: a table that Spark cannot find now is one that is away."""
    meant = None if invalid.__context__ is None else understood(invalid.__context__, definition.name)
    return meant if isinstance(meant, SourceMissing) else None


def _over_its_sources(plan: Plan, surveyed: Surveyed, pinned: Pinned, logs: Logs) -> Surveyed:
    """The survey over the tables that the query reads now: a redefined view may read others than before."""
    if {source.id for source in plan.bound.sources} == set(surveyed.after.sources):
        return surveyed
    versions: dict[str, SourceVersion] = {}
    change_sets: dict[str, ChangeSet] = {}
    for source in plan.bound.sources:
        if source.id in surveyed.after.sources:
            versions[source.id] = surveyed.after.sources[source.id]
            continue
        log, at = logs.at(source.path), pinned.pins.versions
        version = at[source.id] if source.id in at else log.latest_version()
        change_sets[source.id] = change = classify(log, version, version)
        versions[source.id] = SourceVersion(version, change.end.committed_at)
    # What a stream table that it did not read before shows is not written down here.
    strange = any(each.is_stream_table for each in plan.bound.sources if each.id not in surveyed.after.sources)
    bases = None if strange else surveyed.after.bases
    return replace(
        surveyed,
        after=Frontier(versions, surveyed.after.data_timestamp, bases),
        paths={source.id: source.path for source in plan.bound.sources},
        change_sets={**surveyed.change_sets, **change_sets},
    )
