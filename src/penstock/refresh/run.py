"""Running one refresh, from pin to record.

    pin        one version of every source and one handle on the storage, taken once
    classify   what changed between the stored frontier and the pins, from the logs alone
    decide     NO_DATA, INCREMENTAL, FULL or REINITIALIZE, and why
    compute    one Spark query (or a few steps), whose rows are complete stored rows
    apply      one Delta commit with the rows and the new frontier
    record     catalog and history: `record.py`

The stored frontier is that of the newest commit, unless the catalog holds a later one for that same commit. Everything
before the commit can be repeated; everything after it can be rebuilt from it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime, timedelta

from penstock.catalog.model import Action, Dependency, RefreshMode, Status, StreamTableMeta
from penstock.catalog.writer import CatalogWriter
from penstock.compile.plan import Plan
from penstock.engine.delta.commit_record import CommitRecord
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.interval import ChangeSet, classify
from penstock.engine.failures.spark_errors import understood
from penstock.engine.run.workspace import Logs, Workspace
from penstock.engine.write.commit import carry_frontier
from penstock.engine.write.handles import Handles
from penstock.engine.write.storage import Pin, Standing, Storage, standing
from penstock.errors import (
    CommitConflict,
    FrontierLost,
    JobCancelled,
    PenstockError,
    QueryInvalid,
    SourceChanged,
    SourceMissing,
    StateDamaged,
)
from penstock.names import Frontier, Interval, SourceVersion
from penstock.refresh.attempt import Attempt, Quiet
from penstock.refresh.compute import Computed, Work, compute
from penstock.refresh.decide import Decision, Facts, decide
from penstock.refresh.define import check_graph
from penstock.refresh.fuse import check_fuse
from penstock.refresh.lease import PATIENCE, HeldLease, hold
from penstock.refresh.next_lsn import next_lsn
from penstock.refresh.record import Completion, Recorder
from penstock.refresh.result import Progress, RefreshResult, Report
from penstock.refresh.survey import Pins, Situation, survey
from penstock.refresh.weigh import weigh
from penstock.settings import Settings

CARRY_AFTER = timedelta(hours=42)
"""A quarter of Delta's default retention of a week: then a frontier that only the catalog holds goes into a commit."""

_log = logging.getLogger("penstock.refresh")


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
        recorder: Recorder,
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
        self._recorder = recorder

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
        quiet = None if looked or wanted is not None else self.look(meta, pins)
        settled = self._recorder.quiet([quiet]) if quiet is not None else {}
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
            # Waiting for another worker is no part of what it takes.
            attempt = Attempt(self._catalog.get_by_id(meta.id), wanted)
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

    def _guarded(
        self, attempt: Attempt, pins: Pins, held: HeldLease, report: Report | None, fused: bool
    ) -> RefreshResult:
        meta = attempt.meta
        self._recorder.started(attempt, pins, held)
        rebuild: tuple[str, str] | None = None
        for last_try in (False, True):
            try:
                return self._attempt(attempt, pins, held, report, rebuild, fused)
            except (FrontierLost, StateDamaged, SourceChanged) as lost:
                if last_try:
                    self._recorder.failed(attempt, pins, held, lost, self.settings.max_consecutive_errors)
                    raise
                rebuild = (lost.condition, lost.text)
            except JobCancelled as stop:
                # As with an interrupt: nobody has found anything wrong with this table.
                self._recorder.interrupted(attempt, pins, stop)
                raise
            except PenstockError as error:
                self._recorder.failed(attempt, pins, held, error, self.settings.max_consecutive_errors)
                raise
            except (KeyboardInterrupt, SystemExit) as stop:
                # Says nothing about this table.
                self._recorder.interrupted(attempt, pins, stop)
                raise
            except BaseException as error:
                # Trouble of the system, or a bug, of which a panic in Rust is no Exception; without this its history
                # would say RUNNING until the process ends.
                meant = understood(error, str(meta.name))
                self._recorder.failed(attempt, pins, held, meant, self.settings.max_consecutive_errors)
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
                plan = _planned(workspace, definition, situation)
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
                refusal=(plan.refused.reason, plan.refused.construct) if plan.refused else None,
                rebuild=rebuild,
                data_changed=situation.data_changed,
                restless=plan.bound.volatile and not (plan.incremental and situation.before == situation.after),
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
        held.check()
        with suppress(CommitConflict):
            work.storage.set_configuration(dict(unset), at=work.pin.version)
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
            held.check()
            self._recorder.redefined(meta, definition, plan)
        if pin.foreign:
            told = ", ".join(f"{each.operation} at version {each.version}" for each in pin.foreign)
            _log.info("%s: commits of others accepted, they move no rows: %s", meta.name, told)
        if decision.action is Action.NO_DATA:
            carried = self._carried(attempt, decision, situation, work, held)
            done = Completion(decision, situation, pin, plan, None, carried, pin.record)
            return self._recorder.completed(attempt, held, done)

        def tell(stage: str, done: int) -> None:
            if report is not None:
                report(Progress(str(meta.name), stage, f"{decision.action.value.lower()}: {stage}", done, 3))

        if decision.action is Action.REINITIALIZE:
            self._recorder.rebuilding(meta, decision, situation.cause)
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
                self._redefine(meta, storage, redefined, work, committed.version, held)
        else:
            committed_version = self._carried(attempt, computed.decision, situation, work, held)
        done = Completion(computed.decision, situation, pin, plan, computed, committed_version, record)
        result = self._recorder.completed(attempt, held, done)
        self._handles.give(self._logs.at(meta.path), pin.handle)
        tell("record", 3)
        return result

    def _redefine(
        self, meta: StreamTableMeta, storage: Storage, definition: Definition, work: Work, version: int, held: HeldLease
    ) -> None:
        # Not by a worker that slept since its commit: another definition may be in force by now.
        held.check()
        # Nor over somebody who has changed lag or mode since: what is not set then, the next refresh sets.
        with suppress(CommitConflict):
            storage.set_configuration(work.configuration(definition), at=version)
        in_force = Definition.from_json(standing(self._logs.at(meta.path)).definition)
        if in_force.hash == definition.hash:
            self._recorder.redefined(meta, in_force, work.plan)

    def _carried(
        self, attempt: Attempt, decision: Decision, situation: Situation, work: Work, held: HeldLease
    ) -> int | None:
        """Put a frontier that only the catalog would hold into a commit of its own, once it is far ahead."""
        storage, pin, definition = work.storage, work.pin, work.definition
        if not _overdue(pin, situation):
            return None
        held.check()
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

    def surveyed(self, meta: StreamTableMeta, definition: Definition, found: Standing, pins: Pins) -> Situation:
        """What a refresh of the stream table to the pins would find; no Spark job."""

        def known(source: str) -> Dependency | None:
            return next((each for each in self._catalog.dependencies_of(meta.id) if each.source_id == source), None)

        return survey(meta, definition, found, pins, self._logs, self._view_hash, known, self._function_hash)


def _planned(workspace: Workspace, definition: Definition, situation: Situation) -> Plan:
    try:
        return workspace.plan(definition.query, definition.key, definition.shown, situation.schemas)
    except QueryInvalid as invalid:
        # It could be analysed when it was defined: a table that Spark cannot find now is one that is away.
        meant = None if invalid.__context__ is None else understood(invalid.__context__, definition.name)
        raise (meant if isinstance(meant, SourceMissing) else invalid) from None


def _planned_anew(workspace: Workspace, definition: Definition, because: str) -> Plan:
    try:
        return workspace.plan_anew(definition.query, definition.key, definition.shown)
    except QueryInvalid as invalid:
        other = f"ALTER STREAM TABLE {definition.name} AS …"
        raise QueryInvalid(
            why=f"{because}\n{invalid.facts['why']}",
            fix=f"The stored rows stay. Mend the source, or give another query: {other}",
        ) from invalid


def _overdue(pin: Standing, situation: Situation) -> bool:
    """True if the newest commit's frontier lags so far that the sources' retention could overtake it."""
    held = pin.record.data_timestamp if pin.record is not None else None
    now = situation.after.data_timestamp
    return held is not None and now is not None and now - held > CARRY_AFTER
