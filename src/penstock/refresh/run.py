"""One refresh of one stream table: six stages, each a function that takes the value of the one before.

    pin        Pinned      one version of every source and one handle on the storage
    survey     Surveyed    what changed between the stored frontier and the pins, from the logs alone
    plan       Planned     the compiled query
    decide     Decided     NO_DATA, INCREMENTAL, FULL or REINITIALIZE, and why
    compute    Computed    one Spark query (or a few steps), whose rows are complete stored rows
    commit     Committed   one Delta commit with the rows and the new frontier

Then `record.py` writes down what became of it. Everything before the commit can be repeated; everything after it can be
rebuilt from it. A refresh holds the lease of its table from `pin` to the end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from penstock.catalog.model import Action, Status, StreamTableMeta
from penstock.catalog.writer import CatalogWriter
from penstock.compile.bound import BoundQuery
from penstock.engine.delta.definition import Definition
from penstock.engine.failures.spark_errors import understood
from penstock.engine.run.workspace import Logs, Workspace
from penstock.engine.write.handles import Handles
from penstock.errors import (
    CommitConflict,
    FrontierLost,
    JobCancelled,
    PenstockError,
    SourceChanged,
    StateDamaged,
)
from penstock.failpoints import Failpoint, reach
from penstock.refresh.attempt import Attempt, Quiet
from penstock.refresh.define import check_graph
from penstock.refresh.lease import PATIENCE, HeldLease, hold
from penstock.refresh.record import Recorder
from penstock.refresh.result import Progress, RefreshResult, Report
from penstock.refresh.stages.commit import Writer, commit, is_overdue, keep_rows
from penstock.refresh.stages.compute import compute
from penstock.refresh.stages.decide import Decided, decide
from penstock.refresh.stages.fuse import check_fuse
from penstock.refresh.stages.pin import Pinned, PinnedForReading, Pins, Redefine, pin, pin_for_reading
from penstock.refresh.stages.plan import plan
from penstock.refresh.stages.survey import DependenciesOf, Reason, Surveyed, SurveyInputs, survey, with_basis
from penstock.settings import Settings

_log = logging.getLogger("penstock.refresh")


@dataclass(frozen=True)
class RefreshRequest:
    """One stream table to bring to pinned versions. Its upstream stream tables must be there already."""

    meta: StreamTableMeta
    pins: Pins
    surveyed: Surveyed | None = None
    """What `check` found, so that the logs need not be surveyed again."""
    wanted: Redefine | None = None
    """Gives another definition, which comes into force with its rows in one commit, or not at all."""
    patience: timedelta = PATIENCE
    """How long to wait for another worker on the same table."""
    fused: bool = False
    """Raise `FuseBlown` if far more changed than ever lately."""


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
        self._inputs = SurveyInputs(logs, catalog.dependencies_of, view_hash, function_hash)
        self._now = now
        self._sleep = sleep
        self._recorder = recorder

    def refresh(self, request: RefreshRequest, report: Report | None = None) -> RefreshResult:
        """Bring the stream table to the pins."""
        meta = request.meta
        if request.surveyed is None and request.wanted is None:
            found = self.check(meta, request.pins)
            if isinstance(found, Quiet):
                recorded = self._recorder.quiet([found])
                if meta.id in recorded:
                    return recorded[meta.id]
                found = found.surveyed
            request = replace(request, surveyed=found)
        with hold(
            self._catalog,
            meta.id,
            timedelta(seconds=self.settings.lease_seconds),
            self._catalog.now,
            self._sleep,
            request.patience,
        ) as held:
            # Waiting for another worker is no part of what it takes.
            attempt = Attempt(self._catalog.get_by_id(meta.id), request.wanted)
            return self._tried(attempt, request, held, report)

    def check(self, meta: StreamTableMeta, pins: Pins) -> Quiet | Surveyed | None:
        """What happened up to the pins, by the logs; takes no lease, starts no Spark job and writes nothing.

        Quiet means: the versions did not move, or moved over commits without data; the newest commit of rows is ours,
        made under the present definition and views; and the result does not depend on the clock. None means that only
        a refresh can tell.
        """
        if not meta.is_populated or meta.needs_reinit or meta.frontier is None or meta.status is Status.ERROR:
            return None
        attempt = Attempt(meta)
        try:
            with attempt.timed("pin"):
                seen = pin_for_reading(meta, pins, self._logs)
            with attempt.timed("classify"):
                surveyed = self.survey(seen)
            if surveyed.before is None or not _is_quiet(seen, surveyed):
                return with_basis(surveyed, seen, self._logs)
        except Exception:
            # Whatever it is, a Spark that is gone included: the refresh that follows says it in full, and keeps it.
            return None
        attempt.ended = time.perf_counter()
        return Quiet(attempt, surveyed, surveyed.before, seen.state.version)

    def survey(
        self, seen: PinnedForReading, earlier: Surveyed | None = None, dependencies: DependenciesOf | None = None
    ) -> Surveyed:
        """What a refresh of the stream table to its pins would find, for callers that know its `dependencies` too."""
        inputs = self._inputs if dependencies is None else replace(self._inputs, dependencies=dependencies)
        surveyed = survey(seen, inputs, earlier)
        reach(Failpoint.CLASSIFIED)
        return surveyed

    def decide(self, attempt: Attempt, pins: Pins, until: ExitStack, earlier: Surveyed | None = None) -> Decided:
        """Everything up to the decision, for callers that only read: nothing is written.

        The caller has the workspace for itself `until` the end.
        """
        pinned = self._pinned(attempt, pins)
        until.callback(self._give_back, pinned)
        return self._decided(attempt, pinned, earlier, None, until)

    def _tried(
        self, attempt: Attempt, request: RefreshRequest, held: HeldLease, report: Report | None
    ) -> RefreshResult:
        """The stages, once more with a rebuild where the stored rows cannot be built upon; every end is recorded."""
        meta, pins, most_errors = attempt.meta, request.pins, self.settings.max_consecutive_errors
        self._recorder.started(attempt, pins, held)
        rebuild: Reason | None = None
        for last_try in (False, True):
            try:
                return self._staged(attempt, request, rebuild, held, report)
            except (FrontierLost, StateDamaged, SourceChanged) as lost:
                if last_try:
                    self._recorder.failed(attempt, pins, held, lost, most_errors)
                    raise
                rebuild = (lost.condition, lost.text)
            except JobCancelled as stop:
                # As with an interrupt: this shows nothing wrong with the table.
                self._recorder.interrupted(attempt, pins, stop)
                raise
            except PenstockError as error:
                self._recorder.failed(attempt, pins, held, error, most_errors)
                raise
            except (KeyboardInterrupt, SystemExit) as stop:
                # Says nothing about this table.
                self._recorder.interrupted(attempt, pins, stop)
                raise
            except BaseException as error:
                # Trouble of the system, or a bug, of which a panic in Rust is no Exception; without this its history
                # would say RUNNING until the process ends.
                meant = understood(error, str(meta.name))
                self._recorder.failed(attempt, pins, held, meant, most_errors)
                raise meant from error
        raise AssertionError("unreachable")

    def _staged(
        self,
        attempt: Attempt,
        request: RefreshRequest,
        rebuild: Reason | None,
        held: HeldLease,
        report: Report | None,
    ) -> RefreshResult:
        with ExitStack() as until:
            pinned = self._mended(attempt, self._pinned(attempt, request.pins), held)
            earlier = request.surveyed if rebuild is None else None
            decided = self._decided(attempt, pinned, earlier, rebuild, until)
            if request.fused:
                check_fuse(self._catalog, self.settings, attempt.meta, decided.surveyed)
            return self._carried_out(attempt, decided, held, report, until)

    def _pinned(self, attempt: Attempt, pins: Pins) -> Pinned:
        with attempt.timed("pin"):
            return pin(attempt.meta, pins, attempt.wanted, self._logs, self._handles)

    def _give_back(self, pinned: Pinned) -> None:
        # The work is done; without the handle the next refresh opens the table anew.
        with suppress(Exception):
            self._handles.give(self._logs.at(pinned.meta.path), pinned.state.handle)

    def _mended(self, attempt: Attempt, pinned: Pinned, held: HeldLease) -> Pinned:
        """The pinned table with the properties that its newest commit brought, and that a dead worker did not set."""
        while (unset := pinned.state.unset) is not None:
            held.check()
            with suppress(CommitConflict):
                pinned.storage.set_configuration(dict(unset), at=pinned.state.version)
            pinned = self._pinned(attempt, pinned.pins)
        return pinned

    def _decided(
        self, attempt: Attempt, pinned: Pinned, earlier: Surveyed | None, rebuild: Reason | None, until: ExitStack
    ) -> Decided:
        with attempt.timed("classify"):
            surveyed = self.survey(pinned, earlier)
        workspace = self._workspace(pinned.definition)
        until.enter_context(workspace.alone())
        with attempt.timed("compile"):
            planned = plan(pinned, surveyed, workspace, rebuild or surveyed.rebuild, self._check_graph(attempt.meta))
        return decide(planned, self._catalog, self.settings)

    def _carried_out(
        self, attempt: Attempt, decided: Decided, held: HeldLease, report: Report | None, until: ExitStack
    ) -> RefreshResult:
        meta, pinned, decision = attempt.meta, decided.pinned, decided.decision
        writer = Writer(
            refresh_id=attempt.refresh_id,
            catalog=self._catalog,
            now=self._now,
            check_lease=held.check,
            check_graph=self._check_graph(meta),
            redefined=self._recorder.redefined,
        )
        if not pinned.redefines and meta.definition_hash != pinned.definition.hash:
            # The worker that put it in force did not live to say so in the catalog.
            held.check()
            self._recorder.redefined(meta, pinned.definition, decided.plan)
        if pinned.state.foreign:
            others = ", ".join(f"{each.operation} at version {each.version}" for each in pinned.state.foreign)
            _log.info("%s: commits of others accepted, they move no rows: %s", meta.name, others)
        if decision.action is Action.NO_DATA:
            result = self._recorder.completed(attempt, held, keep_rows(decided, decision, writer))
            self._give_back(pinned)
            return result

        def progress(stage: str, done: int) -> None:
            if report is not None:
                report(Progress(str(meta.name), stage, f"{decision.action.value.lower()}: {stage}", done, 3))

        if decision.action is Action.REINITIALIZE:
            self._recorder.rebuilding(meta, decision, decided.surveyed.cause)
        progress("compute", 0)
        reach(Failpoint.DECIDED)
        computed = compute(decided, attempt.timed, progress, until)
        reach(Failpoint.COMPUTED)
        if computed.write is not None:
            progress("commit", 2)
        committed = commit(computed, writer, attempt.timed)
        if decided.planned.rebuild is not None:
            in_force = computed.redefined or pinned.definition
            decided.planned.workspace.keep(in_force, decided.surveyed.schemas, decided.plan)
            if computed.redefined is None:
                held.check()
                self._recorder.bound_anew(meta, decided.plan)
        result = self._recorder.completed(attempt, held, committed)
        self._give_back(pinned)
        progress("record", 3)
        return result

    def _check_graph(self, meta: StreamTableMeta) -> Callable[[BoundQuery], None]:
        return lambda bound: check_graph(self._catalog, meta.name, meta, bound)


def _is_quiet(seen: PinnedForReading, surveyed: Surveyed) -> bool:
    meta, definition, state = seen.meta, seen.definition, seen.state
    return not (
        surveyed.rebuild is not None
        or surveyed.data_changed
        or definition.volatile
        or state.table_id != meta.table_id
        or state.unset is not None
        or definition.hash != meta.definition_hash
        or is_overdue(state, surveyed)
    )
