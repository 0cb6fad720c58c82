"""Fifth stage: from a decision to rows that can be committed.

INCREMENTAL runs the delta program. If that raises, it is run once more with every join consolidated, because a join's
terms can meet in rows that exist at neither end; if it still raises, the query itself is asked: if it raises too, it is
the user's error, else the table is rebuilt. FULL computes all rows and commits the difference when others read this
table or follow its changes, so that they see only what changed; without readers it writes the table anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from penstock.catalog.model import Action
from penstock.compile.plan import Plan
from penstock.compile.reasons import with_link
from penstock.compile.store_keyed import DOUBLED
from penstock.compile.stored import CHANGED, PLUS, Summary
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.interval import ChangeSet
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.delta.storage_schema import same_columns
from penstock.engine.failures.data_errors import data_errors
from penstock.engine.read.large_sources import LargeSources
from penstock.engine.run.change_rows import (
    as_change,
    check_unique,
    combined,
    count_visible,
    sample,
    staged,
    whole_table,
)
from penstock.engine.run.program import Program, Read, Rows, Timed, rows_of, untimed
from penstock.engine.run.workspace import Workspace
from penstock.engine.spark.schema_text import schema_json
from penstock.engine.write.apply import Applier, Change, choose_applier
from penstock.engine.write.storage_state import Pin
from penstock.engine.write.table_properties import layout_of
from penstock.errors import InternalError, KeyViolated, QueryFailed, StateDamaged
from penstock.names import Interval
from penstock.operators.delta_query import STORED, DeltaQuery, Leaf, LeafKind, Moment
from penstock.refresh.stages.decide import Decided, Decision
from penstock.refresh.stages.next_lsn import was_filled
from penstock.refresh.stages.plan import describe
from penstock.settings import Settings

SMALL_SOURCES = 64 * 1024 * 1024
"""Up to this many bytes of sources, a full result is brought to the driver and committed from there."""

SMALL_RESULT = 200_000
"""And up to this many rows; beyond, Spark writes them."""

ReportStage = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of files that a refresh has to do with."""

    delta: int
    read: int
    at_rest: int


@dataclass(frozen=True)
class Figures:
    """What a change amounts to, and what it took to compute it."""

    inserted: int
    deleted: int
    events: int
    """Places that the change takes in the changelog."""
    delta: int
    """Change rows that came in."""
    written: int
    read: int | None
    """Rows of the files that were read, as the logs count them; None if a file has no statistics."""
    at_rest: int | None
    """Rows of all tables that the query reads."""
    bytes: Bytes


@dataclass(frozen=True)
class Write:
    """A change that can be committed, and how."""

    change: Change
    applier: Applier
    program: Program
    """What computed the change: it may hold rows in Spark, which the commit takes."""
    schema_json: str | None = None
    """The schema that an overwrite brings."""


@dataclass(frozen=True)
class Computed:
    """What the decision came to; `write` is None if no stored row changes."""

    decided: Decided
    decision: Decision
    """What was really done: a delta that cannot be computed becomes a rebuild."""
    figures: Figures
    write: Write | None
    redefined: Definition | None = None
    """The definition as it must read after a rebuild, if that differs from the stored one."""
    replaces: bool = False
    """All rows are put anew, in place of those that were there."""


@dataclass(frozen=True)
class _Work:
    """A decided refresh while its change is computed."""

    decided: Decided
    programs: ExitStack
    """Closes every program of this work, and with it what is cached in Spark."""
    stages: bool = True
    """Many rows may be written into the storage's folder before they are committed; not by callers that only read."""
    reads: list[Read] = field(default_factory=list)
    """What the programs of this refresh read, those that were given up included."""

    @property
    def name(self) -> str:
        return str(self.decided.pinned.meta.name)

    @property
    def definition(self) -> Definition:
        return self.decided.pinned.definition

    @property
    def plan(self) -> Plan:
        return self.decided.plan

    @property
    def workspace(self) -> Workspace:
        return self.decided.planned.workspace

    @property
    def pin(self) -> Pin:
        return self.decided.pinned.state

    @property
    def change_sets(self) -> Mapping[str, ChangeSet]:
        return self.decided.surveyed.change_sets

    @property
    def interval(self) -> Interval:
        return self.decided.interval

    @property
    def settings(self) -> Settings:
        return self.decided.settings

    @property
    def stored(self) -> Snapshot:
        """The stored rows' files at the pinned version."""
        return self.workspace.logs.at(self.decided.pinned.storage.path).snapshot(self.pin.version)

    def program(self, on_driver: bool, timed: Timed = untimed) -> Program:
        """A program over this work's interval."""
        workspace = self.workspace
        program = Program(
            spark=workspace.session,
            logs={source.id: workspace.logs.at(source.path) for source in self.plan.bound.sources},
            interval=self.interval,
            change_sets=self.change_sets,
            stored=(workspace.logs.at(self.decided.pinned.storage.path), self.pin.version),
            prepared=workspace.prepared,
            tuning=workspace.tuning,
            on_driver=on_driver,
            partitions=str(self.settings.shuffle_partitions),
            columns=workspace.logs.columns,
            timed=timed,
            reads=self.reads,
        )
        self.programs.callback(program.close)
        return program

    @property
    def large(self) -> LargeSources:
        """Which sources, and whether the stored rows, are worth being narrowed by touched keys."""
        snapshots = {source: change.end for source, change in self.change_sets.items()}
        return LargeSources({**snapshots, STORED: self.stored})

    @property
    def rows_at_rest(self) -> int | None:
        """Rows of all tables that the query reads, at the end of the interval."""
        return rows_at_rest(
            self.workspace.logs.at(source.path).snapshot(self.interval.after.version(source.id))
            for source in self.plan.bound.sources
        )

    @property
    def source_bytes(self) -> int:
        """Bytes of all tables that the query reads."""
        return sum(change.end.bytes for change in self.change_sets.values())

    @property
    def clock_moved(self) -> bool:
        """True if the two ends of the interval stand for different moments."""
        return self.interval.before.data_timestamp != self.interval.after.data_timestamp

    def figures(self, inserted: int, deleted: int, events: int, delta: int, written: int) -> Figures:
        """The figures of a change, with what was read for it so far."""
        return Figures(
            inserted=inserted,
            deleted=deleted,
            events=events,
            delta=delta,
            written=written,
            read=rows_of(self.reads),
            at_rest=self.rows_at_rest,
            bytes=Bytes(
                delta=sum(change.bytes for change in self.change_sets.values()),
                read=sum(read.bytes for read in self.reads),
                at_rest=self.source_bytes,
            ),
        )


def compute(decided: Decided, timed: Timed, progress: ReportStage, until: ExitStack) -> Computed:
    """The change that the decision asks for; its rows may be cached in Spark `until` the end."""
    work, decision = _Work(decided, until.enter_context(ExitStack())), decided.decision
    if decision.action is Action.INCREMENTAL:
        found = _incremental(work, decision, timed)
        if isinstance(found, Computed):
            return found
        # The query itself is the judge of whether the data is at fault.
        code, why = "DELTA_RAISED", f"the delta query raised where the query does not: {found.splitlines()[0]}"
        return _overwrite(work, Decision(Action.REINITIALIZE, code, with_link(code, why)), timed, progress)
    if decision.action is Action.FULL and work.pin.record is not None and decided.wants_difference:
        return _difference(work, decision, timed, progress)
    return _overwrite(work, decision, timed, progress)


def compute_delta(decided: Decided, timed: Timed, until: ExitStack) -> Computed | None:
    """The change of an INCREMENTAL decision, for callers that only read; None if its delta query raises."""
    work = _Work(decided, until.enter_context(ExitStack()), stages=False)
    found = _incremental(work, decided.decision, timed)
    return found if isinstance(found, Computed) else None


def _incremental(work: _Work, decision: Decision, timed: Timed) -> Computed | str:
    """The change, or why the delta query raised."""
    raised = ""
    for netted in (False, True):
        try:
            return _delta(work, decision, timed, netted)
        except QueryFailed as error:
            raised = str(error.facts["why"])
            work.programs.close()
    return raised


def _delta(work: _Work, decision: Decision, timed: Timed, netted: bool) -> Computed:
    moved = frozenset(source for source, change in work.change_sets.items() if change.data_changed)
    rows_in = sum(work.change_sets[source].rows_estimate for source in moved)
    on_driver = rows_in <= work.settings.delta_rs_max_rows
    # Keys that stay in Spark are too many to be looked at, so collecting them would spare nothing.
    query = DeltaQuery(
        moved=moved, clock=work.clock_moved, netted=netted, prunable=work.large if on_driver else frozenset()
    )
    with timed("write delta"):
        last = work.plan.store.change(query)
    program = work.program(on_driver, timed)
    with data_errors(work.name):
        for step in query.steps:
            program.run(step)
        rows = program.run(last)
        return _finished(work, decision, query, program, rows, rows_in)


def _finished(
    work: _Work, decision: Decision, query: DeltaQuery, program: Program, rows: Rows, rows_in: int
) -> Computed:
    """Finish a change: recompute the groups that it left open; contradictions are errors."""
    store = work.plan.store
    change = total = rows.summary()
    final, phase, done = rows, 0, len(query.steps)
    program.keep(CHANGED, rows)
    while (finishing := store.finish(query, total, phase)) is not None:
        for step in query.steps[done:]:
            program.run(step)
        done, phase = len(query.steps), phase + 1
        final = program.run(finishing)
        total = final.summary()
    if phase and not store.finish_replaces:
        final = combined(program.spark, rows, final)
        total = _added(change, total)
    elif phase and PLUS not in final.schema.names:
        total = replace(total, inserted=change.inserted, deleted=change.deleted, updated=change.updated)
    return _ready(work, decision, program, final, total, rows_in, plain=phase == 0)


def _ready(
    work: _Work, decision: Decision, program: Program, rows: Rows, total: Summary, rows_in: int, plain: bool
) -> Computed:
    """A finished change, checked and ready to be committed."""
    _check(work, program, rows, total)
    if total.rows == 0:
        return Computed(work.decided, decision, work.figures(0, 0, 0, rows_in, 0), None)
    ready = as_change(work.plan.store, rows, plain)
    if work.stages and work.settings.apply == "auto":
        ready = staged(ready, work.decided.pinned.storage, work.pin)
    events = total.inserted + total.deleted - total.updated
    figures = work.figures(total.inserted, total.deleted, events, rows_in, total.rows)
    return Computed(work.decided, decision, figures, Write(ready, choose_applier(ready, work.settings), program))


def _added(first: Summary, second: Summary) -> Summary:
    return Summary(
        rows=first.rows + second.rows,
        operations=(first.operations - {"?"}) | second.operations,
        least_weight=None,
        inserted=first.inserted + second.inserted,
        deleted=first.deleted + second.deleted,
        updated=first.updated + second.updated,
    )


def _check(work: _Work, program: Program, rows: Rows, total: Summary) -> None:
    if "!" in total.operations:
        raise StateDamaged(name=work.name, why=f"a row would have a negative count: {sample(program.spark, rows, '!')}")
    if DOUBLED in total.operations:
        raise KeyViolated(
            key=", ".join(work.definition.key), name=work.name, sample=sample(program.spark, rows, DOUBLED)
        )
    if "?" in total.operations:
        raise InternalError(why=f"a group of {work.name} was left to be recomputed")


def _fresh(work: _Work, program: Program) -> Rows:
    """All rows of the query at the end of the interval, as storage columns, not run yet."""
    plan = work.plan
    if plan.incremental:
        query = DeltaQuery(moved=frozenset())
        frame = program.frame(plan.store.fill(query, Moment.AFTER))
    else:
        columns = tuple(
            (column.visible, column.name, column.type) for column in plan.store.columns if column.visible is not None
        )
        versions = {source.path: work.interval.after.version(source.id) for source in plan.bound.sources}
        work.reads.append(Read("fill", "sources", 0, 0, work.rows_at_rest, work.source_bytes))
        moment = work.interval.after.data_timestamp
        frame = work.workspace.recomputed(work.definition.query, columns, versions, moment, plan.store.weighted)
    return Rows(frame.schema, frame)


def _difference(work: _Work, decision: Decision, timed: Timed, progress: ReportStage) -> Computed:
    store = work.plan.store
    program = work.program(on_driver=work.source_bytes <= SMALL_SOURCES)
    with timed("compute"), data_errors(work.name):
        fresh = _fresh(work, program)
        program.keep("__ps_fresh", fresh)
        query = DeltaQuery(moved=frozenset())
        leaf = query.leaf(Leaf("__ps_fresh", LeafKind.COLLECTED, tuple(column.name for column in store.columns)))
        rows = program.run(store.difference(query, leaf))
        total = rows.summary()
        if store.difference_is_complete:
            return _ready(work, decision, program, rows, total, total.rows, plain=False)
        return _finished(work, decision, query, program, rows, total.rows)


def _overwrite(work: _Work, decision: Decision, timed: Timed, progress: ReportStage) -> Computed:
    store = work.plan.store
    program = work.program(on_driver=_fits_driver(work))
    schema = schema_json(program.spark, store.columns)
    with timed("compute"), data_errors(work.name):
        fresh = _fresh(work, program)
        stageable = work.settings.apply == "auto" and same_columns(schema, layout_of(work.pin.handle).schema_json)
        first = decision.reason_code == "FIRST_FILL" or decision.action is Action.REINITIALIZE
        place = (work.decided.pinned.storage, work.pin) if stageable else None
        ready = whole_table(program, fresh, place, first)
        progress("check", 1)
        doubled = check_unique(program, ready, fresh.schema, store.key or ()) if work.definition.key else None
        if doubled is not None:
            raise KeyViolated(key=", ".join(work.definition.key), name=work.name, sample=doubled)
        inserted = count_visible(ready.rows, store)
        deleted = 0
        if replaces := was_filled(work.pin, work.decided.pinned.meta):
            deleted = work.workspace.stored_rows(work.decided.pinned.storage.path, work.pin.version)
    return Computed(
        work.decided,
        decision,
        work.figures(inserted, deleted, 1 if replaces else inserted, inserted, inserted),
        Write(ready, choose_applier(ready, work.settings), program, schema),
        _redefined(work),
        replaces,
    )


def _fits_driver(work: _Work) -> bool:
    """True if the whole result is expected to be small: it was, and the sources are not large."""
    expected = work.stored.rows if work.pin.record is not None else work.rows_at_rest
    return work.source_bytes <= SMALL_SOURCES and (expected is None or expected <= SMALL_RESULT)


def _redefined(work: _Work) -> Definition | None:
    """The definition as it must read after a rebuild, if that differs from the stored one."""
    fresh = describe(work.definition, work.plan, work.workspace.logs)
    return fresh if fresh != work.definition else None


def rows_at_rest(snapshots: Iterable[Snapshot]) -> int | None:
    """Rows of all these tables; None if a file has no statistics."""
    total = 0
    for snapshot in snapshots:
        if snapshot.rows is None:
            return None
        total += snapshot.rows
    return total
