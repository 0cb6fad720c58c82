"""The findings: one function each, from a case to what it means in plain words, or to nothing.

A finding is serious if it keeps the stream table from being fresh, or soon will. `FINDINGS` is the order in which they
appear: first what stops everything, then what slows it down, then what is good to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from statistics import median
from typing import Any, Final

from penstock.catalog.model import RefreshRecord, Status
from penstock.compile.reasons import REASONS, with_link
from penstock.errors import CycleInGraph, NotIncremental, PenstockError, QueryInvalid, Retry, UnstorableColumn
from penstock.graph.lag import format_lag
from penstock.monitor.diagnose.case import Case
from penstock.monitor.diagnose.durations import rounded

MANY_ROWS: Final = 1_000_000
"""From this many pending change rows on, a finding says so."""

ENOUGH_RUNS: Final = 3
"""This many refreshes say how long one takes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found; `code` is stable, `text` and `advice` are for people."""

    code: str
    text: str
    advice: str = ""
    serious: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def found(case: Case) -> Iterator[Finding]:
    """All findings of a case, in the order of `FINDINGS`."""
    for look in FINDINGS:
        finding = look(case)
        if finding is not None:
            yield finding


def in_circle(case: Case) -> Finding | None:
    if case.circle is None:
        return None
    fix = "Give one of them another query (ALTER STREAM TABLE … AS …), or drop it with CASCADE."
    return Finding("CIRCLE", f"it reads itself: {case.circle}", fix, True)


def storage_lost(case: Case) -> Finding | None:
    if case.storage_lost is None:
        return None
    fix = f"Restore the folder {case.meta.path}, or drop the stream table and create it again."
    return Finding("STORAGE_MISSING", f"its own Delta table cannot be read: {case.storage_lost}", fix, True)


def suspended(case: Case) -> Finding | None:
    meta = case.meta
    if meta.status is not Status.SUSPENDED:
        return None
    resume = f"ALTER STREAM TABLE {case.name} RESUME"
    error, advice = _error_lines(meta.last_error)
    if meta.consecutive_errors and retry_of(meta.last_error) is Retry.BUG:
        return Finding(
            "SUSPENDED", f"it was suspended at once by a bug in Penstock: {error}", f"{advice} {resume}", True
        )
    if meta.consecutive_errors:
        many = f"{meta.consecutive_errors} errors in a row" if meta.consecutive_errors > 1 else "an error"
        fix = f"{advice} When the cause is mended: {resume}".strip()
        return Finding("SUSPENDED", f"it was suspended after {many}, the last: {error}", fix, True)
    return Finding("SUSPENDED", "it was suspended by hand: no scheduler refreshes it", resume, True)


def in_error(case: Case) -> Finding | None:
    if case.meta.status is not Status.ERROR:
        return None
    error, advice = _error_lines(case.meta.last_error)
    named = _CONDITION.match(case.meta.last_error or "")
    reads = ", ".join(dict.fromkeys(each.name for each in case.sources)) or "what it reads"
    if named and named[1] in _NOT_OF_ROWS:
        again = f"No new rows mend that: its definition has to change, or the columns of {reads}"
    else:
        again = f"It is tried again when {reads}, its definition or the settings change"
    fix = f"{advice} {again}. To try now: REFRESH STREAM TABLE {case.name}"
    return Finding("ERROR", f"its last refresh failed: {error}", fix.strip(), True)


def source_missing(case: Case) -> Finding | None:
    gone = [each for each in case.sources if each.missing is not None]
    if not gone:
        return None
    named = "; ".join(f"{each.name}: {each.missing}" for each in gone)
    fix = "Bring the source back, give another query (ALTER STREAM TABLE … AS …), or drop the stream table."
    fix = next((each.advice for each in gone if each.advice), fix)
    return Finding("SOURCE_MISSING", f"a source cannot be read: {named}", fix, True)


def upstream_blocked(case: Case) -> Finding | None:
    for path, cause in _blocks(case):
        way = ", which waits for ".join(path)
        return Finding("UPSTREAM_BLOCKED", f"it waits for {way}: {cause.text}", cause.advice, True)
    return None


def running(case: Case) -> Finding | None:
    now = next((each for each in case.history if each.status == "RUNNING"), None)
    if case.lease is None:
        return None
    since = now.started_at if now is not None else case.lease.renewed_at
    text = f"{case.lease.holder} is refreshing it, since {format_lag(rounded(case.now - since))}"
    return Finding("RUNNING", text, "Wait for it; another refresh would wait for its end as well.")


def paused(case: Case) -> Finding | None:
    if not case.paused:
        return None
    text = "all schedulers of this catalog are paused"
    return Finding(
        "PAUSED", text, f"Go on: penstock resume. Or refresh by hand: REFRESH STREAM TABLE {case.name}", case.stale
    )


def disabled(case: Case) -> Finding | None:
    if case.enabled:
        return None
    fix = "Set enabled = true in penstock.toml (or PENSTOCK_ENABLED=true), or refresh by hand."
    return Finding("DISABLED", "the setting enabled is false: the scheduler refreshes nothing", fix, case.stale)


def no_scheduler(case: Case) -> Finding | None:
    if case.scheduler is not None:
        return None
    fix = f"Start one: penstock run. Or refresh by hand: REFRESH STREAM TABLE {case.name}"
    return Finding("NO_SCHEDULER", "no scheduler is running: it is refreshed only by hand", fix, case.stale)


def backing_off(case: Case) -> Finding | None:
    tries = [each for each in case.history if each.status != "RUNNING"]
    failed: list[RefreshRecord] = []
    for each in tries:
        if each.status != "FAILED" or retry_of(each.error_message) is not Retry.BACKOFF:
            break
        failed.append(each)
    if not failed:
        return None
    error, advice = _error_lines(failed[0].error_message)
    times = "the last try" if len(failed) == 1 else f"the last {len(failed)} tries"
    text = f"{times} failed, though neither query nor data are at fault: {error}"
    return Finding("BACKING_OFF", text, f"{advice} It is tried again by itself, at longer and longer intervals.", True)


def too_slow(case: Case) -> Finding | None:
    seconds = [(each.ended_at - each.started_at).total_seconds() for each in case.runs[:10] if each.ended_at]
    if len(seconds) < ENOUGH_RUNS or median(seconds) <= case.allowed.total_seconds() / 2:
        return None
    takes = format_lag(rounded(timedelta(seconds=median(seconds))))
    text = f"a refresh takes {takes}, too long for a lag of {format_lag(case.allowed)}"
    fix = f"Allow more: ALTER STREAM TABLE {case.name} SET TARGET LAG '…'. Or see where the time goes: penstock explain"
    return Finding("TOO_SLOW", text, fix, True)


def always_full(case: Case) -> Finding | None:
    if case.refusal is None:
        return None
    code, construct, fix = case.refusal
    text = f"every refresh recomputes the whole query ({code}): {REASONS[code]}: {construct}"
    return Finding("ALWAYS_FULL", text, fix)


def rebuild_needed(case: Case) -> Finding | None:
    if case.rebuild is None or case.meta.data_timestamp is None:
        return None
    code, why = case.rebuild
    if code == "FOREIGN_WRITE":
        text = f"another writer changed its storage: {why}; its rows cannot be trusted until it is rebuilt"
        fix = f"REFRESH STREAM TABLE {case.name} rebuilds it. Find out who wrote to {case.meta.path}."
        return Finding("FOREIGN_WRITE", text, fix, True)
    text = f"the next refresh rebuilds it ({code}): {with_link(code, why)}"
    fix = "Nothing has to be done; its rows are right as of its frontier until then."
    if code == "SOURCE_CHANGED":
        fix += f" If its query names a column that is gone, give it another: ALTER STREAM TABLE {case.name} AS …"
    return Finding("REBUILD", text, fix)


def costly_lag(case: Case) -> Finding | None:
    if not case.warnings:
        return None
    fix = f"If it need not be that fresh: ALTER STREAM TABLE {case.name} SET TARGET LAG '…'"
    return Finding("LAG", "; ".join(case.warnings), fix)


def pending_changes(case: Case) -> Finding | None:
    waiting = case.pending
    if not waiting:
        return None
    rows = sum(each.rows for each in waiting)
    named = ", ".join(f"{each.name} (version {each.version} → {each.newest})" for each in waiting)
    # Its columns or files may have changed, and no row.
    if rows == 0:
        return None
    text = f"{rows:,} change rows wait in {named}" if rows > 1 else f"1 change row waits in {named}"
    if rows < MANY_ROWS:
        return Finding("PENDING", text)
    return Finding("MANY_PENDING", text, "The next refresh takes longer than usual.", case.stale)


def never_filled(case: Case) -> Finding | None:
    if case.meta.data_timestamp is not None:
        return None
    return Finding("NEVER_FILLED", "it was created without rows", f"Fill it: REFRESH STREAM TABLE {case.name}", True)


def retention_ends(case: Case) -> Finding | None:
    short = [each for each in case.holdings if each.lost is None and each.running_out(case.now)]
    if not short:
        return None
    first = min(short, key=lambda each: each.time_left(case.now) or timedelta(0))
    left, ends = first.time_left(case.now) or timedelta(0), first.ends
    when = f"in {format_lag(rounded(left))}" if left > timedelta(0) else "at any time"
    text = f"clean-up of {first.source} may take {when} what it has not taken over yet ({ends[2] if ends else ''})"
    fix = f"Refresh it before: REFRESH STREAM TABLE {case.name}. Else the next refresh rebuilds it."
    return Finding("RETENTION", text, fix, True)


def laid_out_by_others(case: Case) -> Finding | None:
    if not case.foreign:
        return None
    return Finding("FOREIGN_LAYOUT", f"others changed its storage without moving rows: {', '.join(case.foreign)}")


def opaque_functions(case: Case) -> Finding | None:
    if not case.opaque:
        return None
    text = f"changes of {', '.join(case.opaque)} are not noticed: the code of these functions cannot be read"
    return Finding("OPAQUE_FUNCTION", text, f"After changing one: ALTER STREAM TABLE {case.name} AS … rebuilds it.")


def trusted(case: Case) -> Finding | None:
    stamp = case.meta.data_timestamp
    if stamp is None or case.rebuild is not None or case.storage_lost is not None:
        return None
    when = f"{stamp:%Y-%m-%d %H:%M:%S} UTC"
    text = f"its rows are those of its query as of {when}, and no other writer has changed them"
    return Finding("TRUSTED", text, f"To prove it: AUDIT STREAM TABLE {case.name}")


FINDINGS: Final[tuple[Callable[[Case], Finding | None], ...]] = (
    in_circle,
    storage_lost,
    suspended,
    in_error,
    source_missing,
    upstream_blocked,
    never_filled,
    backing_off,
    rebuild_needed,
    running,
    paused,
    disabled,
    no_scheduler,
    too_slow,
    retention_ends,
    always_full,
    costly_lag,
    pending_changes,
    laid_out_by_others,
    opaque_functions,
    trusted,
)

STOPS: Final = (in_circle, storage_lost, suspended, in_error, source_missing)
"""What keeps the consumers of a stream table waiting."""


def _blocks(case: Case) -> Iterator[tuple[tuple[str, ...], Finding]]:
    """Upstreams that are stopped, each with the way to it; those at the far end first, for they are the cause."""
    for upstream in case.upstreams:
        beyond = list(_blocks(upstream))
        yield from (((upstream.name, *way), cause) for way, cause in beyond)
        if not beyond:
            cause = next((finding for look in STOPS if (finding := look(upstream)) is not None), None)
            if cause is not None:
                yield (upstream.name,), cause


def _all(kind: type[PenstockError]) -> Iterator[type[PenstockError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _all(each)


_RETRIES: Final = {each.condition: each.retry for each in _all(PenstockError)}
_NOT_OF_ROWS: Final = {each.condition for each in (QueryInvalid, NotIncremental, UnstorableColumn, CycleInGraph)}
_CONDITION: Final = re.compile(r"\[([A-Z_]+)\] ")


def retry_of(error: str | None) -> Retry | None:
    """The retry class of an error that was kept as text.

    >>> retry_of("[DISK_FULL] no space was left"), retry_of("the process was interrupted")
    (<Retry.BACKOFF: 'backoff'>, None)
    """
    named = _CONDITION.match(error or "")
    return _RETRIES.get(named[1]) if named else None


def _error_lines(error: str | None) -> tuple[str, str]:
    """The first line of an error that was kept as text, and its advice."""
    lines = (error or "the reason was not kept").splitlines()
    advice = lines[-1].strip() if len(lines) > 1 and lines[-1].startswith("  ") else ""
    return lines[0].strip(), advice
