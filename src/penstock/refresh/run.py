"""Running one refresh, from pin to record.

    pin        one version of every source and one handle on the storage, taken once
    classify   what changed between the stored frontier and the pins, from the logs alone
    decide     NO_DATA, INCREMENTAL, FULL or REINITIALIZE, and why
    compute    one Spark query (or a few steps), whose rows are complete stored rows
    apply      one Delta commit with the rows and the new frontier
    record     catalog and history

The stored frontier is that of the newest commit, unless the catalog holds a later one for that same commit. Everything
before the commit can be repeated; everything after it can be rebuilt from it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from penstock.catalog.model import (
    Action,
    Advance,
    Alert,
    AlertEvent,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    Status,
    StreamTableMeta,
)
from penstock.catalog.owner import current_owner
from penstock.catalog.writer import CatalogWriter
from penstock.compile.plan import Plan
from penstock.engine.commit import carry_frontier
from penstock.engine.commit_record import CommitRecord
from penstock.engine.definition import Definition
from penstock.engine.handles import Handles
from penstock.engine.interval import ChangeSet, classify
from penstock.engine.spark_errors import understood
from penstock.engine.storage import Pin, Standing, Storage, standing
from penstock.engine.workspace import Logs, Workspace
from penstock.errors import (
    CommitConflict,
    FrontierLost,
    FuseBlown,
    PenstockError,
    QueryInvalid,
    Retry,
    SourceChanged,
    StateDamaged,
)
from penstock.names import Frontier, Interval, SourceVersion
from penstock.refresh.compute import Computed, Work, compute
from penstock.refresh.decide import Decision, Facts, decide
from penstock.refresh.define import check_graph, dependencies_of
from penstock.refresh.fuse import check_fuse
from penstock.refresh.lease import HeldLease, hold
from penstock.refresh.next_lsn import next_lsn
from penstock.refresh.result import Progress, RefreshResult, Report
from penstock.refresh.survey import Pins, Situation, survey
from penstock.refresh.weigh import weigh
from penstock.settings import Settings

CARRY_AFTER = timedelta(hours=42)
"""A quarter of Delta's default retention of a week: then a frontier that only the catalog holds goes into a commit."""

_log = logging.getLogger("penstock.refresh")

PATIENCE = timedelta(minutes=10)
"""How long a refresh waits for another worker on the same table."""


@dataclass
class Attempt:
    """One refresh of one stream table at work."""

    meta: StreamTableMeta
    wanted: Definition | None = None
    """The definition that this refresh is to put in place of the stored one, together with its rows."""
    refresh_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)
    ended: float | None = None

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = self.timings.get(stage, 0.0) + time.perf_counter() - began

    @property
    def seconds(self) -> float:
        return (time.perf_counter() if self.ended is None else self.ended) - self.started


@dataclass(frozen=True)
class Quiet:
    """A stream table to which nothing happened between its frontier and the pins."""

    attempt: Attempt
    situation: Situation
    before: Frontier
    version: int | None
    """The storage version that shows it."""


class Refresher:
    """Refreshes single stream tables at given pins."""

    def __init__(
        self,
        catalog: CatalogWriter,
        settings: Settings,
        workspace: Callable[[Definition], Workspace],
        logs: Logs,
        view_hash: Callable[[str], str],
        function_hash: Callable[[str], str | None],
        now: Callable[[], datetime],
        sleep: Callable[[float], None],
        tell: Callable[[Alert], None],
        observe: Callable[[RefreshRecord], None],
    ) -> None:
        self._catalog = catalog
        self.settings = settings
        self._workspace = workspace
        self._logs = logs
        self._handles = Handles()
        self._view_hash = view_hash
        self._function_hash = function_hash
        self._now = now
        self._sleep = sleep
        self._tell = tell
        self._observe = observe

    def refresh(
        self,
        meta: StreamTableMeta,
        pins: Pins,
        report: Report | None = None,
        looked: bool = False,
        wanted: Definition | None = None,
        patience: timedelta = PATIENCE,
        fused: bool = False,
    ) -> RefreshResult:
        """Bring one stream table to the pins. Its upstream stream tables must be there already.

        `looked` says that `look` has just found something to do. With `wanted`, another definition comes into force
        with its rows, in one commit; if that fails, nothing has changed. `patience` is for another worker on the same
        table. With `fused`, `FuseBlown` if far more changed than ever lately.
        """
        attempt = Attempt(meta, wanted)
        quiet = None if looked or wanted is not None else self.look(meta, pins)
        settled = self.settle([quiet]) if quiet is not None else {}
        if meta.id in settled:
            return settled[meta.id]
        with hold(
            self._catalog,
            meta.id,
            timedelta(seconds=self.settings.lease_seconds),
            self._catalog.now,
            self._sleep,
            patience,
        ) as held:
            attempt.meta = self._catalog.get_by_id(meta.id)
            return self._guarded(attempt, pins, held, report, fused)

    def look(self, meta: StreamTableMeta, pins: Pins) -> Quiet | None:
        """Whether nothing happened up to the pins, as the logs tell; no lease, no Spark job, nothing is written.

        The versions did not move, or moved over commits without data; the newest commit of rows is ours, made under
        the present definition and views; and the result does not depend on the clock.
        """
        if not meta.is_populated or meta.needs_reinit or meta.frontier is None or meta.status is Status.ERROR:
            return None
        attempt = Attempt(meta)
        try:
            with attempt.timed("pin"):
                found = standing(self._logs.at(meta.path))
                definition = Definition.from_json(found.definition)
            with attempt.timed("classify"):
                situation = self.surveyed(meta, definition, found, pins)
        except Exception:
            # Whatever it is, a Spark that is gone included: the refresh that follows says it in full, and keeps it.
            return None
        if (
            situation.rebuild is not None
            or situation.data_changed
            or situation.before is None
            or definition.restless
            or found.table_id != meta.table_id
            or found.unset is not None
            or definition.hash != meta.definition_hash
            or _overdue(found, situation)
        ):
            return None
        attempt.ended = time.perf_counter()
        return Quiet(attempt, situation, situation.before, found.version)

    def settle(self, quiet: Sequence[Quiet]) -> dict[int, RefreshResult]:
        """NO_DATA for all of these in one catalog transaction; results by id, for those that nobody has moved since."""
        advances = [Advance(each.attempt.meta.id, each.before, each.situation.after) for each in quiet]
        records = [
            self._record(each.attempt, Action.NO_DATA, each.situation, RefreshStatus.COMPLETED) for each in quiet
        ]
        moved = self._catalog.advance_no_data(advances, now=self._now(), records=records)
        for record in records:
            if record.stream_table_id in moved:
                self._observe(record)
        return {
            each.attempt.meta.id: self._result(
                each.attempt, Decision(Action.NO_DATA), each.situation.after, each.version, None
            )
            for each in quiet
            if each.attempt.meta.id in moved
        }

    def _guarded(
        self, attempt: Attempt, pins: Pins, held: HeldLease, report: Report | None, fused: bool
    ) -> RefreshResult:
        meta = attempt.meta
        self._catalog.start_refresh(
            running := RefreshRecord(
                refresh_id=attempt.refresh_id,
                stream_table_id=meta.id,
                name=str(meta.name),
                action=Action.INCREMENTAL if meta.is_populated else Action.FULL,
                status=RefreshStatus.RUNNING,
                started_at=self._now(),
                data_timestamp=pins.data_timestamp,
                owner=current_owner(),
                lease_token=held.lease.token,
            )
        )
        self._observe(running)
        rebuild: tuple[str, str] | None = None
        for last_try in (False, True):
            try:
                return self._attempt(attempt, pins, held, report, rebuild, fused)
            except (FrontierLost, StateDamaged, SourceChanged) as lost:
                if last_try:
                    self._failed(attempt, pins, lost)
                    raise
                rebuild = (lost.condition, lost.text)
            except PenstockError as error:
                self._failed(attempt, pins, error)
                raise
            except Exception as error:
                # Trouble of the system, or a bug; without this its history would say RUNNING until the process ends.
                meant = understood(error, str(meta.name))
                self._failed(attempt, pins, meant)
                raise meant from error
        raise AssertionError("unreachable")

    def prepared(self, attempt: Attempt, pins: Pins, until: ExitStack) -> tuple[Work, Decision]:
        """Everything up to the decision; nothing is changed. The work has its workspace for itself `until` the end."""
        work, decision, _ = self._prepared(attempt, pins, None, until)
        return work, decision

    def _prepared(
        self, attempt: Attempt, pins: Pins, rebuild: tuple[str, str] | None, until: ExitStack
    ) -> tuple[Work, Decision, Situation]:
        meta = attempt.meta
        with attempt.timed("pin"):
            log = self._logs.at(meta.path)
            storage = Storage.open(meta.path, self._handles.take(log))
            pin = storage.pin(log)
            definition = attempt.wanted or Definition.from_json(pin.definition)
        with attempt.timed("classify"):
            situation = self.surveyed(meta, definition, pin, pins)
        rebuild = rebuild or situation.rebuild
        workspace = self._workspace(definition)
        until.enter_context(workspace.alone())
        with attempt.timed("compile"):
            if rebuild is None or situation.before is None:
                plan = workspace.plan(
                    definition.query,
                    definition.key,
                    tuple(name for name, _, _ in definition.columns),
                    situation.schemas,
                )
            else:
                plan = _planned_anew(workspace, definition, rebuild[1])
                check_graph(self._catalog, meta.name, meta, plan.bound)
        situation = self._reading(plan, situation, pins)
        choice = None
        if meta.refresh_mode is RefreshMode.AUTO and rebuild is None and situation.before is not None:
            stored = workspace.logs.at(storage.path).snapshot(pin.version)
            choice = weigh(self._catalog, self.settings, meta, plan, situation.change_sets, stored)
        decision = decide(
            Facts(
                mode=meta.refresh_mode,
                is_populated=situation.before is not None,
                incremental=plan.incremental,
                refusal=(plan.refused.reason, f"{plan.refused.construct}: {plan.refused.fix}")
                if plan.refused
                else None,
                rebuild=rebuild,
                data_changed=situation.data_changed,
                restless=plan.bound.restless and not (plan.incremental and situation.before == situation.after),
                choice=choice,
            )
        )
        work = Work(
            meta=meta,
            definition=definition,
            plan=plan,
            workspace=workspace,
            storage=storage,
            pin=pin,
            interval=Interval(situation.before, situation.after)
            if situation.before is not None and decision.action is Action.INCREMENTAL
            else Interval(situation.after, situation.after),
            change_sets=situation.change_sets,
            paths=situation.paths,
            wants_difference=self.settings.full_changes == "diff"
            or bool(self._catalog.consumers_of(meta.table_id))
            or bool(self._catalog.subscribers(meta.table_id)),
            settings=self.settings,
        )
        return work, decision, situation

    def _reading(self, plan: Plan, situation: Situation, pins: Pins) -> Situation:
        """The situation over the tables that the query reads now: a redefined view may read others than before."""
        if {source.id for source in plan.bound.sources} == set(situation.after.sources):
            return situation
        versions: dict[str, SourceVersion] = {}
        change_sets: dict[str, ChangeSet] = {}
        for source in plan.bound.sources:
            if source.id in situation.after.sources:
                versions[source.id] = situation.after.sources[source.id]
                continue
            log = self._logs.at(source.path)
            version = pins.versions[source.id] if source.id in pins.versions else log.latest_version()
            change_sets[source.id] = change = classify(log, version, version)
            versions[source.id] = SourceVersion(version, change.end.committed_at)
        # What a stream table that it did not read before shows is not written down here.
        strange = any(each.is_stream_table for each in plan.bound.sources if each.id not in situation.after.sources)
        bases = None if strange else situation.after.bases
        return replace(
            situation,
            after=Frontier(versions, situation.after.data_timestamp, bases),
            paths={source.id: source.path for source in plan.bound.sources},
            change_sets={**situation.change_sets, **change_sets},
        )

    def _attempt(
        self,
        attempt: Attempt,
        pins: Pins,
        held: HeldLease,
        report: Report | None,
        rebuild: tuple[str, str] | None,
        fused: bool,
    ) -> RefreshResult:
        with ExitStack() as until:
            work, decision, situation = self._prepared(attempt, pins, rebuild, until)
            unset = work.pin.unset
            if unset is None:
                if fused:
                    check_fuse(self._catalog, self.settings, attempt.meta, situation)
                return self._carried_out(attempt, work, decision, situation, held, report)
        # Properties that a commit brought into force, and whose worker did not live to set them.
        work.storage.set_configuration(dict(unset))
        return self._attempt(attempt, pins, held, report, rebuild, fused)

    def _carried_out(
        self,
        attempt: Attempt,
        work: Work,
        decision: Decision,
        situation: Situation,
        held: HeldLease,
        report: Report | None,
    ) -> RefreshResult:
        meta, storage, pin, definition, plan = attempt.meta, work.storage, work.pin, work.definition, work.plan
        if attempt.wanted is None and meta.definition_hash != definition.hash:
            # Whoever put it in force did not live to tell the catalog.
            self._tell_catalog(meta, definition, plan)
        if pin.foreign:
            told = ", ".join(f"{each.operation} at version {each.version}" for each in pin.foreign)
            _log.info("%s: commits of others accepted, they move no rows: %s", meta.name, told)
        if decision.action is Action.NO_DATA:
            carried = self._carried(attempt, decision, situation, pin, storage, definition)
            return self._finish(attempt, decision, situation, pin, None, held, plan, carried, pin.record)

        def tell(stage: str, done: int) -> None:
            if report is not None:
                report(Progress(str(meta.name), stage, f"{decision.action.value.lower()}: {stage}", done, 3))

        if decision.action is Action.REINITIALIZE:
            facts = {"reason": decision.reason_code, "change": decision.reason}
            self._tell(Alert(AlertEvent.REINITIALIZE_NEEDED, str(meta.name), self._now(), facts))
        tell("compute", 0)
        computed = compute(work, decision, attempt.timed, tell)
        redefined = computed.redefined or attempt.wanted
        committed_version, record = None, pin.record
        if computed.change is not None:
            tell("commit", 2)
            if redefined is not None:
                # Others may have been redefined while this was computed.
                check_graph(self._catalog, meta.name, meta, plan.bound)
            held.check()
            record = self._commit_record(attempt, computed.decision, situation, pin, redefined or definition, computed)
            if redefined is not None:
                record = replace(record, properties=work.configuration(redefined))
            with attempt.timed("commit"):
                committed = computed.commit(storage, pin, record)
            committed_version, computed = committed.version, replace(computed, applier=committed.applier)
            if redefined is not None:
                self._redefine(meta, storage, redefined, work)
        else:
            committed_version = self._carried(attempt, computed.decision, situation, pin, storage, definition)
        result = self._finish(
            attempt, computed.decision, situation, pin, computed, held, plan, committed_version, record
        )
        self._handles.give(self._logs.at(meta.path), pin.handle)
        tell("record", 3)
        return result

    def _redefine(self, meta: StreamTableMeta, storage: Storage, definition: Definition, work: Work) -> None:
        storage.set_configuration(work.configuration(definition))
        self._tell_catalog(meta, definition, work.plan)

    def _tell_catalog(self, meta: StreamTableMeta, definition: Definition, plan: Plan) -> None:
        self._catalog.update_definition(
            meta.id,
            now=self._now(),
            query=definition.query,
            database=definition.database,
            settings=definition.settings,
            key=definition.key,
            definition_hash=definition.hash,
            target_lag=definition.target_lag,
            refresh_mode=RefreshMode(definition.refresh_mode),
            dependencies=dependencies_of(plan.bound),
        )

    def _carried(
        self,
        attempt: Attempt,
        decision: Decision,
        situation: Situation,
        pin: Pin,
        storage: Storage,
        definition: Definition,
    ) -> int | None:
        """Put a frontier that only the catalog would hold into a commit of its own, once it is far ahead."""
        if not _overdue(pin, situation):
            return None
        record = self._commit_record(attempt, decision, situation, pin, definition)
        spark = self._workspace(definition).session if pin.not_fast and not pin.marks else None
        return carry_frontier(storage, pin, record, spark=spark).version

    def _commit_record(
        self,
        attempt: Attempt,
        decision: Decision,
        situation: Situation,
        pin: Pin,
        definition: Definition,
        computed: Computed | None = None,
    ) -> CommitRecord:
        inserted, deleted = (computed.rows_inserted, computed.rows_deleted) if computed else (0, 0)
        return CommitRecord(
            stream_table_id=definition.id,
            definition_hash=definition.hash,
            refresh_id=attempt.refresh_id,
            action=decision.action.value,
            frontier=situation.after,
            data_timestamp=situation.after.data_timestamp,
            rows_inserted=inserted,
            rows_deleted=deleted,
            first_lsn=next_lsn(pin, attempt.meta, self._catalog, self._now()),
            lsn_count=computed.events if computed else 0,
            replaces=computed is not None and computed.replaces,
            before=situation.before if decision.action is not Action.REINITIALIZE else None,
        )

    def _finish(
        self,
        attempt: Attempt,
        decision: Decision,
        situation: Situation,
        pin: Pin,
        computed: Computed | None,
        held: HeldLease,
        plan: Plan,
        version: int | None,
        record: CommitRecord | None,
    ) -> RefreshResult:
        shown = version if version is not None else pin.record_version
        # A rebuild that its worker did not live to tell of: the frontier need not have gone forward.
        told = attempt.meta.frontier
        unheard = pin.record is not None and attempt.meta.frontier_version != pin.record_version
        rebuilt = unheard and told is not None and not told <= situation.after
        mode = (
            RefreshMode.INCREMENTAL
            if plan.incremental and attempt.meta.refresh_mode is not RefreshMode.FULL
            else RefreshMode.FULL
        )
        with attempt.timed("record"):
            self._catalog.update_after_refresh(
                held.lease,
                action=Action.REINITIALIZE if rebuilt else decision.action,
                before=attempt.meta.frontier,
                after=situation.after,
                table_version=shown if shown is not None else pin.version,
                now=self._now(),
                last_lsn=None if record is None else record.last_lsn,
                effective_mode=mode,
                reason_code=decision.reason_code,
                reason=decision.reason,
            )
        if attempt.meta.effective_mode not in {None, mode}:
            facts = {"was": attempt.meta.effective_mode, "is": mode.value, "reason": _reason(decision)}
            self._tell(Alert(AlertEvent.MODE_CHANGED, str(attempt.meta.name), self._now(), facts))
        # Commits since our record that moved no data may have laid the files out better.
        seen = version if version is not None else pin.version
        result = self._result(attempt, decision, situation.after, seen, computed)
        level = logging.WARNING if decision.action is Action.REINITIALIZE else logging.INFO
        _log.log(
            level,
            "%s %s +%d -%d in %.3f s%s",
            result.name,
            result.action.value,
            result.rows_inserted,
            result.rows_deleted,
            result.seconds,
            f" ({_reason(decision)})" if decision.reason_code else "",
            extra={"stream_table": result.name, "refresh_id": attempt.refresh_id, "event": "refreshed"},
        )
        done = self._record(attempt, decision.action, situation, RefreshStatus.COMPLETED)
        self._catalog.finish_refresh(
            finished := replace(
                done,
                reason=_reason(decision),
                commit_version=version,
                rows_inserted=result.rows_inserted,
                rows_deleted=result.rows_deleted,
                delta_rows=result.delta_rows,
                rows_read=result.rows_read,
                rows_at_rest=result.rows_at_rest,
                rows_written=computed.rows_written if computed else 0,
                delta_bytes=computed.bytes.delta if computed else 0,
                bytes_read=computed.bytes.read if computed else 0,
                bytes_at_rest=computed.bytes.at_rest if computed else None,
                bytes_written=self._bytes_written(attempt.meta, version),
                operators=plan.operators,
                applier=result.applier,
                timings=dict(attempt.timings),
                lease_token=held.lease.token,
            )
        )
        self._observe(finished)
        return result

    def _bytes_written(self, meta: StreamTableMeta, version: int | None) -> int:
        """What a commit of ours added; the next refresh needs it read anyway."""
        return 0 if version is None else sum(each.file.size for each in self._logs.at(meta.path).commit(version).adds)

    def _record(self, attempt: Attempt, action: Action, situation: Situation, status: RefreshStatus) -> RefreshRecord:
        now = self._now()
        return RefreshRecord(
            refresh_id=attempt.refresh_id,
            stream_table_id=attempt.meta.id,
            name=str(attempt.meta.name),
            action=action,
            status=status,
            started_at=now - timedelta(seconds=attempt.seconds),
            ended_at=now,
            data_timestamp=situation.after.data_timestamp,
            from_frontier=situation.before,
            to_frontier=situation.after,
            timings=dict(attempt.timings),
            owner=current_owner(),
        )

    def _result(
        self,
        attempt: Attempt,
        decision: Decision,
        frontier: Frontier,
        version: int | None,
        computed: Computed | None,
    ) -> RefreshResult:
        return RefreshResult(
            name=str(attempt.meta.name),
            action=decision.action,
            reason_code=decision.reason_code,
            reason=decision.reason,
            rows_inserted=computed.rows_inserted if computed else 0,
            rows_deleted=computed.rows_deleted if computed else 0,
            frontier=frontier,
            data_timestamp=frontier.data_timestamp,
            version=version,
            seconds=attempt.seconds,
            timings=dict(attempt.timings),
            delta_rows=computed.delta_rows if computed else 0,
            rows_read=computed.rows_read if computed else 0,
            rows_at_rest=computed.rows_at_rest if computed else None,
            applier=computed.applier if computed else None,
        )

    def surveyed(self, meta: StreamTableMeta, definition: Definition, found: Standing, pins: Pins) -> Situation:
        """What a refresh of the stream table to the pins would find; no Spark job."""

        def columns_used(source: str) -> tuple[str, ...]:
            dependencies = self._catalog.dependencies_of(meta.id)
            return next((each.columns_used for each in dependencies if each.source_id == source), ())

        return survey(meta, definition, found, pins, self._logs, self._view_hash, columns_used, self._function_hash)

    def _failed(self, attempt: Attempt, pins: Pins, error: PenstockError) -> None:
        if attempt.wanted is None:
            self._count(attempt, error)
        now = self._now()
        meta = attempt.meta
        self._catalog.finish_refresh(
            failed := RefreshRecord(
                refresh_id=attempt.refresh_id,
                stream_table_id=meta.id,
                name=str(meta.name),
                action=Action.INCREMENTAL if meta.is_populated else Action.FULL,
                status=RefreshStatus.FAILED,
                started_at=now - timedelta(seconds=attempt.seconds),
                ended_at=now,
                data_timestamp=pins.data_timestamp,
                timings=dict(attempt.timings),
                reason="the stored definition stays in force" if attempt.wanted is not None else None,
                error_message=str(error),
                owner=current_owner(),
            )
        )
        self._observe(failed)

    def _count(self, attempt: Attempt, error: PenstockError) -> None:
        """Keep the error with the table, tell of it, and stop the scheduler from trying again where that is right."""
        now = self._now()
        meta = attempt.meta
        countable = not isinstance(error, CommitConflict) and error.retry is not Retry.BACKOFF
        count = self._catalog.record_failure(meta.id, str(error), now=now, countable=countable)
        _log.warning(
            "%s failed: %s",
            meta.name,
            error.text,
            extra={"stream_table": str(meta.name), "refresh_id": attempt.refresh_id, "event": "refresh_failed"},
        )
        facts = {"condition": error.condition, "error": error.text, "retry": error.retry.value, "errors": count}
        self._tell(Alert(AlertEvent.REFRESH_FAILED, str(meta.name), now, facts))
        stopped = _stopped_by(error, count >= self.settings.max_consecutive_errors)
        if stopped is not None:
            self._catalog.update_status(meta.id, stopped, now=now)
            if meta.status is not stopped:
                facts = {"status": stopped.value, "errors": count, "last_error": error.text}
                self._tell(Alert(AlertEvent.AUTO_SUSPENDED, str(meta.name), now, facts))


def _stopped_by(error: PenstockError, too_many: bool) -> Status | None:
    """The status that keeps the scheduler from trying again; None if it may."""
    if isinstance(error, FuseBlown) or error.retry is Retry.BUG or too_many:
        return Status.SUSPENDED
    return Status.ERROR if error.retry is Retry.NEVER else None


def _planned_anew(workspace: Workspace, definition: Definition, because: str) -> Plan:
    try:
        return workspace.plan_anew(definition.query, definition.key)
    except QueryInvalid as invalid:
        raise QueryInvalid(
            why=f"{because}\n{invalid.facts['why']}",
            fix="The stored rows stay. Mend the source, or give another query: ALTER STREAM TABLE … AS …",
        ) from invalid


def _overdue(pin: Standing, situation: Situation) -> bool:
    """True if the newest commit's frontier lags so far that the sources' retention could overtake it."""
    held = pin.record.data_timestamp if pin.record is not None else None
    now = situation.after.data_timestamp
    return held is not None and now is not None and now - held > CARRY_AFTER


def _reason(decision: Decision) -> str | None:
    if decision.reason_code is None:
        return None
    return f"{decision.reason_code}: {decision.reason}" if decision.reason else decision.reason_code
