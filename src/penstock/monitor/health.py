"""Health: whether anything needs a person, in one value.

    healthy  =  the catalog answers
              ∧ it knows every stream table in the warehouse
              ∧ no scheduler died without a word
              ∧ no stream table was stopped by errors, or reads itself
              ∧ no stream table at work is older than twice its target lag, unless nothing it comes from has changed

A paused catalog, a stream table that a person suspended, and a warehouse without a scheduler are reported, but they are
intended, so they are no problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from penstock.catalog.model import SCHEDULER, Status
from penstock.catalog.reader import CatalogReader
from penstock.errors import PenstockError
from penstock.monitor.status import StatusRow, Unchanged, status, unknown


@dataclass(frozen=True, slots=True)
class SchedulerHealth:
    """The scheduler's lease, as the catalog has it."""

    holder: str | None = None
    alive: bool = False
    renewed_at: datetime | None = None
    expires_at: datetime | None = None
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """How a warehouse is at one moment."""

    at: datetime
    catalog: bool
    scheduler: SchedulerHealth
    stream_tables: int = 0
    error: tuple[str, ...] = ()
    suspended: tuple[str, ...] = ()
    lag_exceeded: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What a person should look at; empty = healthy."""

    @property
    def healthy(self) -> bool:
        """True if there are no problems."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        fields = {"healthy": self.healthy, **asdict(self)}
        fields["at"] = self.at.isoformat()
        for name in ("renewed_at", "expires_at"):
            moment = fields["scheduler"][name]
            fields["scheduler"][name] = None if moment is None else moment.isoformat()
        return fields


def health(
    catalog: CatalogReader,
    now: datetime,
    minimum: timedelta,
    lost: Callable[[], Sequence[str]] = tuple,
    unchanged: Unchanged = unknown,
) -> Health:
    """Look once. A catalog that does not answer is a finding, not an error."""
    try:
        return _seen(catalog, now, status(catalog, now, minimum, unchanged), lost())
    except PenstockError as error:
        return Health(now, False, SchedulerHealth(), problems=(f"the catalog does not answer: {error.text}",))


def _seen(catalog: CatalogReader, now: datetime, rows: Sequence[StatusRow], lost: Sequence[str]) -> Health:
    scheduler = _scheduler(catalog)
    stopped = tuple(row.name for row in rows if row.status == Status.ERROR)
    suspended = tuple(row.name for row in rows if row.status == Status.SUSPENDED)
    at_work = [row for row in rows if row.status not in {Status.ERROR, Status.SUSPENDED}]
    late = tuple(row.name for row in at_work if row.is_late)
    problems = []
    if scheduler.holder is not None and not scheduler.alive:
        seen = scheduler.renewed_at.isoformat(timespec="seconds") if scheduler.renewed_at else "long ago"
        problems.append(
            f"the scheduler {scheduler.holder} was last heard of at {seen}: start another with penstock run"
        )
    problems += [
        f"{row.name} was stopped: {(row.last_error or row.status).splitlines()[0]}"
        for row in rows
        if row.status == Status.ERROR or (row.status == Status.SUSPENDED and row.errors)
    ]
    problems += [f"{name} is in the warehouse, but not in its catalog: run penstock repair" for name in lost]
    circle = [row.name for row in rows if row.name in row.blocked_by]
    if circle:
        problems.append(f"{', '.join(circle)} read each other in a circle, and are not refreshed")
    waits = {row.name: f": it waits for {', '.join(row.blocked_by)}" if row.blocked_by else "" for row in rows}
    problems += [f"{name} is older than twice its target lag{waits[name]}" for name in late]
    return Health(now, True, scheduler, len(rows), stopped, suspended, late, tuple(problems))


def _scheduler(catalog: CatalogReader) -> SchedulerHealth:
    lease, paused = catalog.get_lease(SCHEDULER), catalog.paused()
    if lease is None:
        return SchedulerHealth(paused=paused)
    return SchedulerHealth(lease.holder, lease.expires_at > catalog.now(), lease.renewed_at, lease.expires_at, paused)
