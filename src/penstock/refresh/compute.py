"""Computing a change: from a decision to rows that can be committed.

INCREMENTAL runs the delta program. If that raises, it is run once more with every join consolidated, because a join's
terms can meet in rows that exist at neither end; if it still raises, the query itself is asked: if it raises too, it is
the user's error, else the table is rebuilt. FULL computes all rows and commits the difference when others read this
table or follow its changes, so that they see only what changed; without readers it writes the table anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.catalog.model import Action, StreamTableMeta
from penstock.compile.plan import COMPILER, Plan
from penstock.compile.reasons import with_link
from penstock.compile.store_keyed import DOUBLED
from penstock.compile.stored import CHANGED, PLUS, Summary
from penstock.engine.delta.commit_record import CommitRecord
from penstock.engine.delta.definition import Definition, text_hash
from penstock.engine.delta.delta_log import Snapshot
from penstock.engine.delta.interval import ChangeSet
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
from penstock.engine.run.workspace import Logs, Workspace
from penstock.engine.spark.schema_text import schema_json
from penstock.engine.write.apply import Applier, Change, choose_applier
from penstock.engine.write.commit import Committed, Marking, commit
from penstock.engine.write.storage import DEFINITION_KEY, Pin, Storage, key_configuration, layout_of
from penstock.errors import InternalError, KeyViolated, QueryFailed, StateDamaged
from penstock.names import Interval
from penstock.operators.delta_query import STORED, DeltaQuery, Leaf, LeafKind, Moment
from penstock.refresh.decide import Decision
from penstock.refresh.next_lsn import was_filled
from penstock.settings import Settings

SMALL_SOURCES = 64 * 1024 * 1024
"""Up to this many bytes of sources, a full result is brought to the driver and committed from there."""

SMALL_RESULT = 200_000
"""And up to this many rows; beyond, Spark writes them."""

Tell = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of files that a refresh has to do with."""

    delta: int
    read: int
    at_rest: int


@dataclass(frozen=True)
class Work:
    """Everything that computing a change needs."""

    meta: StreamTableMeta
    definition: Definition
    plan: Plan
    workspace: Workspace
    storage: Storage
    pin: Pin
    interval: Interval
    change_sets: Mapping[str, ChangeSet]
    paths: Mapping[str, str]
    wants_difference: bool
    """Somebody follows the changes of this table, so a recomputed result is told by what differs."""
    settings: Settings
    reads: list[Read] = field(default_factory=list)
    """What the programs of this refresh read, those that were given up included."""

    @property
    def name(self) -> str:
        """The stream table's name."""
        return str(self.meta.name)

    def program(self, on_driver: bool, timed: Timed = untimed) -> Program:
        """A program over this work's interval."""
        workspace = self.workspace
        return Program(
            spark=workspace.session,
            logs={source.id: workspace.logs.at(source.path) for source in self.plan.bound.sources},
            interval=self.interval,
            change_sets=self.change_sets,
            stored=(workspace.logs.at(self.storage.path), self.pin.version),
            prepared=workspace.prepared,
            tuning=workspace.tuning,
            on_driver=on_driver,
            partitions=str(self.settings.shuffle_partitions),
            columns=workspace.logs.columns,
            timed=timed,
            reads=self.reads,
        )

    @property
    def large(self) -> LargeSources:
        """Which sources, and whether the stored rows, are worth being narrowed by touched keys."""
        snapshots = {source: change.end for source, change in self.change_sets.items()}
        stored = self.workspace.logs.at(self.storage.path).snapshot(self.pin.version)
        return LargeSources({**snapshots, STORED: stored})

    @property
    def rows_at_rest(self) -> int | None:
        """Rows of all tables that the query reads, at the end of the interval."""
        return rows_at_rest(
            self.workspace.logs.at(source.path).snapshot(self.interval.after.version(source.id))
            for source in self.plan.bound.sources
        )

    @property
    def bytes(self) -> Bytes:
        """Bytes of the changes, of what was read so far, and of all tables that the query reads."""
        return Bytes(
            delta=sum(change.bytes for change in self.change_sets.values()),
            read=sum(read.bytes for read in self.reads),
            at_rest=_sources_bytes(self),
        )

    @property
    def clock_moved(self) -> bool:
        """True if the two ends of the interval stand for different moments."""
        return self.interval.before.data_timestamp != self.interval.after.data_timestamp

    def configuration(self, definition: Definition) -> dict[str, str]:
        """The table properties that carry a definition."""
        return {DEFINITION_KEY: definition.to_json(), **key_configuration(self.plan.store.key)}


@dataclass(frozen=True)
class Computed:
    """A change ready to be committed; `change` is None if no stored row changes."""

    decision: Decision
    change: Change | None
    rows_inserted: int
    rows_deleted: int
    events: int
    """Places that the change takes in the changelog."""
    delta_rows: int
    rows_written: int
    rows_read: int | None
    """Rows of the files that were read, as the logs count them; None if a file has no statistics."""
    rows_at_rest: int | None
    bytes: Bytes
    applier: str | None
    commit: Callable[[Storage, Pin, CommitRecord], Committed]
    redefined: Definition | None = None
    replaces: bool = False
    """All rows are put anew, in place of those that were there."""


def compute(work: Work, decision: Decision, timed: Timed, tell: Tell) -> Computed:
    """The change that the decision asks for."""
    if decision.action is Action.INCREMENTAL:
        return _incremental(work, decision, timed, tell)
    if decision.action is Action.FULL and work.pin.record is not None and work.wants_difference:
        return _difference(work, decision, timed, tell)
    return _overwrite(work, decision, timed, tell)


def _incremental(work: Work, decision: Decision, timed: Timed, tell: Tell) -> Computed:
    raised = ""
    for netted in (False, True):
        try:
            return _delta(work, decision, timed, netted)
        except QueryFailed as error:
            raised = str(error.facts["why"])
    # The query itself is the judge of whether the data is at fault.
    code, why = "DELTA_RAISED", f"the delta query raised where the query does not: {raised.splitlines()[0]}"
    return _overwrite(work, Decision(Action.REINITIALIZE, code, with_link(code, why)), timed, tell)


def _delta(work: Work, decision: Decision, timed: Timed, netted: bool) -> Computed:
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
        return _settled(work, decision, query, program, rows, rows_in)


def _settled(work: Work, decision: Decision, query: DeltaQuery, program: Program, rows: Rows, rows_in: int) -> Computed:
    """Finish a change: whatever it left open is settled, contradictions are errors."""
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
    return _computed(work, decision, program, final, total, rows_in, plain=phase == 0)


def _computed(
    work: Work, decision: Decision, program: Program, rows: Rows, total: Summary, rows_in: int, plain: bool
) -> Computed:
    """A settled change, checked and ready to be committed."""
    _check(work, program, rows, total)
    if total.rows == 0:
        program.close()
        read, at_rest = rows_of(work.reads), work.rows_at_rest
        return Computed(decision, None, 0, 0, 0, rows_in, 0, read, at_rest, work.bytes, None, _no_commit)
    ready = as_change(work.plan.store, rows, plain)
    if work.settings.apply == "auto":
        ready = staged(ready, work.storage, work.pin)
    applier = choose_applier(ready, work.settings)
    return Computed(
        decision,
        ready,
        total.inserted,
        total.deleted,
        total.inserted + total.deleted - total.updated,
        rows_in,
        total.rows,
        rows_of(work.reads),
        work.rows_at_rest,
        work.bytes,
        applier,
        _committer(work, program, ready, applier),
    )


def _committer(
    work: Work, program: Program, change: Change, applier: Applier, schema: str | None = None
) -> Callable[[Storage, Pin, CommitRecord], Committed]:
    limit = work.settings.deletion_vector_bytes if work.settings.apply == "auto" else 0
    marking = Marking(work.workspace.logs.at(work.storage.path), program.columns, limit, program.placed)

    def commit_it(storage: Storage, pin: Pin, record: CommitRecord) -> Committed:
        done = commit(
            storage,
            pin,
            change,
            record,
            applier=applier,
            transaction_number=pin.next_transaction,
            spark=program.spark,
            schema_json=schema,
            marking=marking,
        )
        program.close()
        return done

    return commit_it


def _added(first: Summary, second: Summary) -> Summary:
    return Summary(
        rows=first.rows + second.rows,
        operations=(first.operations - {"?"}) | second.operations,
        least_weight=None,
        inserted=first.inserted + second.inserted,
        deleted=first.deleted + second.deleted,
        updated=first.updated + second.updated,
    )


def _check(work: Work, program: Program, rows: Rows, total: Summary) -> None:
    if "!" in total.operations:
        raise StateDamaged(name=work.name, why=f"a row would have a negative count: {sample(program.spark, rows, '!')}")
    if DOUBLED in total.operations:
        raise KeyViolated(
            key=", ".join(work.definition.key), name=work.name, sample=sample(program.spark, rows, DOUBLED)
        )
    if "?" in total.operations:
        raise InternalError(why=f"a group of {work.name} was left to be recomputed")


def _no_commit(storage: Storage, pin: Pin, record: CommitRecord) -> Committed:
    raise InternalError(why="there is nothing to commit")


def _fresh(work: Work, program: Program) -> Rows:
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
        work.reads.append(Read("fill", "sources", 0, 0, work.rows_at_rest, _sources_bytes(work)))
        moment = work.interval.after.data_timestamp
        frame = work.workspace.recomputed(work.definition.query, columns, versions, moment, plan.store.weighted)
    return Rows(frame.schema, frame)


def _difference(work: Work, decision: Decision, timed: Timed, tell: Tell) -> Computed:
    store = work.plan.store
    program = work.program(on_driver=_sources_bytes(work) <= SMALL_SOURCES)
    with timed("compute"), data_errors(work.name):
        fresh = _fresh(work, program)
        program.keep("__ps_fresh", fresh)
        query = DeltaQuery(moved=frozenset())
        leaf = query.leaf(Leaf("__ps_fresh", LeafKind.COLLECTED, tuple(column.name for column in store.columns)))
        rows = program.run(store.difference(query, leaf))
        total = rows.summary()
        if store.difference_is_complete:
            return _computed(work, decision, program, rows, total, total.rows, plain=False)
        return _settled(work, decision, query, program, rows, total.rows)


def _overwrite(work: Work, decision: Decision, timed: Timed, tell: Tell) -> Computed:
    store = work.plan.store
    program = work.program(on_driver=_fits_driver(work))
    schema = schema_json(program.spark, store.columns)
    with timed("compute"), data_errors(work.name):
        fresh = _fresh(work, program)
        stageable = work.settings.apply == "auto" and same_columns(schema, layout_of(work.pin.handle).schema_json)
        first = decision.reason_code == "FIRST_FILL" or decision.action is Action.REINITIALIZE
        ready = whole_table(fresh, program.on_driver, (work.storage, work.pin) if stageable else None, first)
        tell("check", 1)
        doubled = check_unique(program, ready, fresh.schema, store.key or ()) if work.definition.key else None
        if doubled is not None:
            raise KeyViolated(key=", ".join(work.definition.key), name=work.name, sample=doubled)
        inserted = count_visible(ready.rows, store)
        deleted = 0
        if replaces := was_filled(work.pin, work.meta):
            deleted = work.workspace.stored_rows(work.storage.path, work.pin.version)
    applier = choose_applier(ready, work.settings)

    return Computed(
        decision,
        ready,
        inserted,
        deleted,
        1 if replaces else inserted,
        inserted,
        inserted,
        rows_of(work.reads),
        work.rows_at_rest,
        work.bytes,
        applier,
        _committer(work, program, ready, applier, schema),
        _redefined(work),
        replaces,
    )


def _fits_driver(work: Work) -> bool:
    """True if the whole result is expected to be small: it was, and the sources are not large."""
    stored = work.workspace.logs.at(work.storage.path).snapshot(work.pin.version)
    expected = stored.rows if work.pin.record is not None else work.rows_at_rest
    return _sources_bytes(work) <= SMALL_SOURCES and (expected is None or expected <= SMALL_RESULT)


def _redefined(work: Work) -> Definition | None:
    """The definition as it must read after a rebuild, if that differs from the stored one."""
    fresh = describe(work.definition, work.plan, work.workspace.logs)
    return fresh if fresh != work.definition else None


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
        restless=plan.bound.volatile,
        compiler=COMPILER,
    )


def rows_at_rest(snapshots: Iterable[Snapshot]) -> int | None:
    """Rows of all these tables; None if a file has no statistics."""
    total = 0
    for snapshot in snapshots:
        if snapshot.rows is None:
            return None
        total += snapshot.rows
    return total


def _sources_bytes(work: Work) -> int:
    return sum(change.end.bytes for change in work.change_sets.values())
