"""What a refresh leaves behind: catalog, history, log lines and alerts, and the result for its caller.

    started      RUNNING in history, before any work
    quiet        NO_DATA for many tables in one catalog transaction
    completed    the frontier under the lease's token, then history
    failed       the error with the table, counted; the table is stopped where trying the same again cannot help
    interrupted  that it was stopped from outside; this is no error of the table
    skipped      a refresh that did not take place

Nothing here decides or computes. All of it can be lost: the newest commit of a stream table says where it stands.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
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
from penstock.compile.reasons import with_link
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.errors import CommitConflict, FuseBlown, LeaseLost, PenstockError, Retry, SourceError
from penstock.names import Frontier
from penstock.refresh.attempt import Attempt, Quiet
from penstock.refresh.define import dependencies_of, note_definition, same_sources
from penstock.refresh.graph_run import Skip
from penstock.refresh.lease import HeldLease
from penstock.refresh.result import RefreshResult
from penstock.refresh.stages.commit import Committed
from penstock.refresh.stages.decide import Decision
from penstock.refresh.stages.pin import Pins
from penstock.refresh.stages.survey import Surveyed

_log = logging.getLogger("penstock.refresh")


class Recorder:
    """Writes down what became of refreshes."""

    def __init__(
        self,
        catalog: CatalogWriter,
        logs: Logs,
        now: Callable[[], datetime],
        tell: Callable[[Alert], None],
        observe: Callable[[RefreshRecord], None],
    ) -> None:
        self._catalog = catalog
        self._logs = logs
        self._now = now
        self._tell = tell
        self._observe = observe

    def started(self, attempt: Attempt, pins: Pins, held: HeldLease) -> None:
        """A refresh begins; without its end, this is what a crash leaves."""
        meta = attempt.meta
        self._catalog.start_refresh(
            running := RefreshRecord(
                refresh_id=attempt.refresh_id,
                stream_table_id=meta.id,
                name=str(meta.name),
                action=expected_action(meta),
                status=RefreshStatus.RUNNING,
                started_at=self._now(),
                data_timestamp=pins.data_timestamp,
                owner=current_owner(),
                lease_token=held.lease.token,
            )
        )
        self._observe(running)

    def rebuilding(self, meta: StreamTableMeta, decision: Decision, cause: str | None) -> None:
        """The stored rows cannot be built upon, because of a source, view or function if there is a `cause`.

        Said before the work, which may take long.
        """
        names = {each.source_id: each.source_name for each in self._catalog.dependencies_of(meta.id)}
        source = None if cause is None else names.get(cause, cause)
        facts = {"reason": decision.reason_code, "change": decision.reason, "source": source}
        self._tell(Alert(AlertEvent.REINITIALIZE_NEEDED, str(meta.name), self._now(), facts))

    def redefined(self, meta: StreamTableMeta, definition: Definition, plan: Plan) -> None:
        """Another definition is in force in the storage."""
        note_definition(self._catalog, meta, definition, dependencies_of(plan.bound), self._now())

    def bound_anew(self, meta: StreamTableMeta, plan: Plan) -> None:
        """A rebuild read these sources; the catalog has others if a worker died before it could say so."""
        reads, held = dependencies_of(plan.bound), self._catalog.dependencies_of(meta.id)
        if not same_sources(reads, held):
            self._catalog.update_definition(meta.id, now=self._now(), dependencies=reads)

    def quiet(self, found: Sequence[Quiet]) -> dict[int, RefreshResult]:
        """NO_DATA for all of these in one catalog transaction; results by id, but for those that others have moved."""
        if not found:
            return {}
        advances = [Advance(each.attempt.meta.id, each.before, each.surveyed.after) for each in found]
        records = [self._completed(each.attempt, Action.NO_DATA, each.surveyed) for each in found]
        # Whether a worker is at one of them is a question of leases, and those go by the clock of the catalog.
        moved = self._catalog.advance_no_data(advances, now=self._catalog.now(), records=records)
        for record in records:
            if record.stream_table_id in moved:
                self._observe(record)
        return {
            each.attempt.meta.id: _result(
                each.attempt, Decision(Action.NO_DATA), each.surveyed.after, each.version, None
            )
            for each in found
            if each.attempt.meta.id in moved
        }

    def completed(self, attempt: Attempt, held: HeldLease, done: Committed) -> RefreshResult:
        """A refresh came to its end; LeaseLost if another worker holds the table by now."""
        decision, surveyed = done.decision, done.decided.surveyed
        figures = done.computed.figures if done.computed is not None else None
        mode = _effective_mode(attempt.meta, done.decided.plan)
        with attempt.timed("record"):
            self._advance(attempt.meta, held, done, mode)
        if attempt.meta.effective_mode not in {None, mode}:
            facts = {"was": attempt.meta.effective_mode, "is": mode.value, "reason": _reason(_why(attempt.meta, done))}
            self._tell(Alert(AlertEvent.MODE_CHANGED, str(attempt.meta.name), self._now(), facts))
        if attempt.meta.status is Status.ERROR:
            facts = {"was": attempt.meta.status.value, "last_error": attempt.meta.last_error}
            self._tell(Alert(AlertEvent.RESUMED, str(attempt.meta.name), self._now(), facts))
        # The log line and history show one figure.
        attempt.ended = time.perf_counter()
        # Commits since our record that moved no data may have laid the files out better.
        seen = done.version if done.version is not None else done.decided.pinned.state.version
        result = _result(attempt, decision, surveyed.after, seen, done)
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
        self._catalog.finish_refresh(
            finished := replace(
                self._completed(attempt, decision.action, surveyed),
                reason=_reason(decision),
                commit_version=done.version,
                rows_inserted=result.rows_inserted,
                rows_deleted=result.rows_deleted,
                delta_rows=result.delta_rows,
                rows_read=result.rows_read,
                rows_at_rest=result.rows_at_rest,
                rows_written=figures.written if figures else 0,
                delta_bytes=figures.bytes.delta if figures else 0,
                bytes_read=figures.bytes.read if figures else 0,
                bytes_at_rest=figures.bytes.at_rest if figures else None,
                bytes_written=self._bytes_written(attempt.meta, done.version),
                operators=done.decided.plan.operators,
                applier=result.applier,
                timings=dict(attempt.timings),
                lease_token=held.lease.token,
            )
        )
        self._observe(finished)
        return result

    def failed(self, attempt: Attempt, pins: Pins, held: HeldLease, error: PenstockError, most_errors: int) -> None:
        """A refresh failed; `most_errors` in a row stop the table.

        A definition that does not come into force does not count: the stored one is as good as it was. Nor does an
        error of a worker that has lost the table: another worker carries on, and records its own outcome.
        """
        if attempt.wanted is None:
            try:
                self._count(attempt, held, error, most_errors)
            except LeaseLost as lost:
                about = {"stream_table": str(attempt.meta.name), "refresh_id": attempt.refresh_id, "event": "lease"}
                _log.warning(
                    "%s failed here, which is not held against it: %s", attempt.meta.name, lost.text, extra=about
                )
        now = self._now()
        meta = attempt.meta
        self._catalog.finish_refresh(
            failed := RefreshRecord(
                refresh_id=attempt.refresh_id,
                stream_table_id=meta.id,
                name=str(meta.name),
                action=expected_action(meta),
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

    def interrupted(self, attempt: Attempt, pins: Pins, stop: BaseException) -> None:
        """A refresh was stopped from outside; what it had committed, the next one finds."""
        now, meta = self._now(), attempt.meta
        about = {"stream_table": str(meta.name), "refresh_id": attempt.refresh_id, "event": "interrupted"}
        _log.info("%s interrupted: %s", meta.name, type(stop).__name__, extra=about)
        interrupted = RefreshRecord(
            refresh_id=attempt.refresh_id,
            stream_table_id=meta.id,
            name=str(meta.name),
            action=Action.SKIP,
            status=RefreshStatus.SKIPPED,
            started_at=now - timedelta(seconds=attempt.seconds),
            ended_at=now,
            data_timestamp=pins.data_timestamp,
            timings=dict(attempt.timings),
            reason=f"INTERRUPTED: {type(stop).__name__}",
            owner=current_owner(),
        )
        # If the catalog does not answer, the next process that opens the warehouse closes the row.
        with suppress(PenstockError):
            self._catalog.finish_refresh(interrupted)
            self._observe(interrupted)

    def skipped(self, meta: StreamTableMeta, skip: Skip, stamp: datetime) -> RefreshResult:
        """A refresh that did not take place, in history and as a result."""
        why = with_link(skip.code, skip.why)
        about = {"stream_table": str(meta.name), "event": "skipped"}
        _log.info("%s skipped: %s: %s", meta.name, skip.code, skip.why, extra=about)
        self._catalog.record_refresh(
            skipped := RefreshRecord(
                refresh_id=uuid.uuid4().hex,
                stream_table_id=meta.id,
                name=str(meta.name),
                action=Action.SKIP,
                status=RefreshStatus.SKIPPED,
                started_at=stamp,
                ended_at=stamp,
                data_timestamp=meta.data_timestamp or stamp,
                reason=f"{skip.code}: {why}",
                owner=current_owner(),
            )
        )
        self._observe(skipped)
        return RefreshResult.unmoved(meta, Action.SKIP, skip.code, why)

    def _advance(self, meta: StreamTableMeta, held: HeldLease, done: Committed, mode: RefreshMode) -> None:
        """The new frontier, with the table version that shows it."""
        pin, after, why = done.decided.pinned.state, done.decided.surveyed.after, _why(meta, done)
        shown = done.version if done.version is not None else pin.record_version
        # A rebuild that its worker did not live to tell of: the frontier need not have gone forward.
        unheard = pin.record is not None and meta.frontier_version != pin.record_version
        rebuilt = unheard and meta.frontier is not None and not meta.frontier <= after
        self._catalog.update_after_refresh(
            held.lease,
            action=Action.REINITIALIZE if rebuilt else done.decision.action,
            before=meta.frontier,
            after=after,
            table_version=shown if shown is not None else pin.version,
            now=self._now(),
            last_lsn=None if done.record is None else done.record.last_lsn,
            effective_mode=mode,
            reason_code=why.reason_code,
            reason=why.reason,
            reinit_requests=meta.reinit_requests,
        )

    def _bytes_written(self, meta: StreamTableMeta, version: int | None) -> int:
        """What a commit of ours added; the next refresh needs it read anyway."""
        return 0 if version is None else sum(each.file.size for each in self._logs.at(meta.path).commit(version).adds)

    def _completed(self, attempt: Attempt, action: Action, surveyed: Surveyed) -> RefreshRecord:
        now = self._now()
        return RefreshRecord(
            refresh_id=attempt.refresh_id,
            stream_table_id=attempt.meta.id,
            name=str(attempt.meta.name),
            action=action,
            status=RefreshStatus.COMPLETED,
            started_at=now - timedelta(seconds=attempt.seconds),
            ended_at=now,
            data_timestamp=surveyed.after.data_timestamp,
            from_frontier=surveyed.before,
            to_frontier=surveyed.after,
            timings=dict(attempt.timings),
            owner=current_owner(),
        )

    def _count(self, attempt: Attempt, held: HeldLease, error: PenstockError, most_errors: int) -> None:
        """Keep the error with the table, raise an alert, and stop the scheduler from trying again where that is right.

        LeaseLost, and nothing has happened, if another worker holds the table by now.
        """
        now = self._now()
        meta = attempt.meta
        countable = not isinstance(error, CommitConflict) and error.retry is not Retry.BACKOFF
        count = self._catalog.record_failure(meta.id, str(error), now=now, countable=countable, lease=held.lease)
        _log.warning(
            "%s failed: %s",
            meta.name,
            error.text,
            extra={"stream_table": str(meta.name), "refresh_id": attempt.refresh_id, "event": "refresh_failed"},
        )
        facts = {"condition": error.condition, "error": error.text, "retry": error.retry.value, "errors": count}
        # One that was in error before, and fails the same way again, is no news.
        if (meta.status, meta.last_error) != (Status.ERROR, str(error)):
            self._tell(Alert(AlertEvent.REFRESH_FAILED, str(meta.name), now, facts))
        stopped = _stopped_by(error, count >= most_errors)
        # A table that a person has suspended must not come back with its next source.
        if stopped is not None and self._catalog.get_by_id(meta.id).status is not Status.SUSPENDED:
            self._catalog.update_status(meta.id, stopped, now=now, lease=held.lease)
            if meta.status is not stopped:
                facts = {"status": stopped.value, "errors": count, "last_error": error.text}
                self._tell(Alert(AlertEvent.AUTO_SUSPENDED, str(meta.name), now, facts))


def _stopped_by(error: PenstockError, too_many: bool) -> Status | None:
    """SUSPENDED if a person must look, ERROR if something else must change; None if it is tried again as it is."""
    if isinstance(error, FuseBlown) or error.retry is Retry.BUG:
        return Status.SUSPENDED
    if error.retry in {Retry.CHANGE, Retry.NEVER}:
        return Status.ERROR
    if not too_many:
        return None
    return Status.ERROR if isinstance(error, SourceError) else Status.SUSPENDED


def expected_action(meta: StreamTableMeta) -> Action:
    """What a refresh that has decided nothing yet, or never will, set out to do."""
    incremental = meta.is_populated and meta.effective_mode is not RefreshMode.FULL
    return Action.INCREMENTAL if incremental else Action.FULL


def _effective_mode(meta: StreamTableMeta, plan: Plan) -> RefreshMode:
    incremental = plan.incremental and meta.refresh_mode is not RefreshMode.FULL
    return RefreshMode.INCREMENTAL if incremental else RefreshMode.FULL


def _why(meta: StreamTableMeta, done: Committed) -> Decision:
    """Why the stream table is maintained as it is; not why one refresh, such as the first fill, did what it did."""
    refused = done.decided.plan.refused
    if meta.refresh_mode is RefreshMode.FULL:
        return Decision(Action.FULL, "AS_ASKED", with_link("AS_ASKED", "refresh mode FULL"))
    return done.decision if refused is None else Decision(Action.FULL, refused.reason, refused.explained)


def _result(
    attempt: Attempt, decision: Decision, frontier: Frontier, version: int | None, done: Committed | None
) -> RefreshResult:
    figures = done.computed.figures if done is not None and done.computed is not None else None
    return RefreshResult(
        name=str(attempt.meta.name),
        action=decision.action,
        reason_code=decision.reason_code,
        reason=decision.reason,
        rows_inserted=figures.inserted if figures else 0,
        rows_deleted=figures.deleted if figures else 0,
        frontier=frontier,
        data_timestamp=frontier.data_timestamp,
        version=version,
        seconds=attempt.seconds,
        timings=dict(attempt.timings),
        delta_rows=figures.delta if figures else 0,
        rows_read=figures.read if figures else 0,
        rows_at_rest=figures.at_rest if figures else None,
        applier=done.applier if done is not None else None,
    )


def _reason(decision: Decision) -> str | None:
    if decision.reason_code is None:
        return None
    return f"{decision.reason_code}: {decision.reason}" if decision.reason else decision.reason_code
