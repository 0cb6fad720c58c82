"""Watching: from how things stand now to the alerts that people must see, once per episode. Pure.

    lag_exceeded        lag > 2 × target, and the rows    over, with lag_recovered, when lag ≤ target
                        come from what has changed
    falling_behind      d > (target − period) / 2         over when it is not; d = median of the last refreshes
    buffer_lag_warning  waiting rows > threshold          over when waiting rows ≤ threshold / 2
    retention_warning   time left < retention / 4         over when it is not

The promise is period + wait + d < target: a refresh may take half of what the period leaves, the other half is for
waiting. An episode is known by stream table, event and source. One that was open is open again after a restart, as the
newest alerts have it (`reopened`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from penstock.catalog.model import Alert, AlertEvent, Status
from penstock.graph.lag import format_lag
from penstock.monitor.pending import Pending
from penstock.monitor.status import StatusRow

JUDGED: Final = 3
"""A stream table falls behind by its last three refreshes, not by one that met a busy machine."""

REMEMBERED: Final = timedelta(days=1)
"""The end of most episodes is not written down: after a restart an older alert is raised again if it still holds."""

_AT_WORK: Final = frozenset({Status.ACTIVE, Status.INITIALIZING})


class Episode(NamedTuple):
    """Something that an alert has reported and that is not over."""

    stream_table: str
    event: AlertEvent
    source: str = ""


Facts = Mapping[str, str | int | float | bool | None]
Episodes = Mapping[Episode, datetime]
"""When each began."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a stream table is to be refreshed, and how long its newest refreshes took, newest first."""

    stream_table: str
    period: timedelta
    durations: tuple[timedelta, ...]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a source keeps what a stream table has not read yet."""

    stream_table: str
    source: str
    horizon: datetime
    """When the version at the stream table's frontier may be cleaned away."""
    retention: timedelta
    """What the source promises to keep."""

    def left(self, now: datetime) -> timedelta:
        """Time until then; negative if it has passed."""
        return self.horizon - now


@dataclass(frozen=True, slots=True)
class Watch:
    """What was seen: alerts to raise, and the episodes that are open afterwards."""

    alerts: tuple[Alert, ...]
    episodes: Episodes


def watch(
    rows: Sequence[StatusRow],
    now: datetime,
    *,
    open_before: Episodes,
    pending: Iterable[Pending] = (),
    retention: Iterable[Retention] = (),
    paces: Iterable[Pace] = (),
    buffer_rows: int,
) -> Watch:
    """Judge everything once. Episodes of stream tables that are gone end without a word."""
    look = _Sample(now, open_before, [], {})
    at_work = {row.name: row for row in rows if row.status in _AT_WORK}
    for row in rows:
        look.lag(row)
    for pace in paces:
        if pace.stream_table in at_work:
            look.pace(pace, at_work[pace.stream_table])
    known = {row.name for row in rows}
    for each in pending:
        if each.stream_table in known:
            look.buffer(each, buffer_rows)
    for kept in retention:
        if kept.stream_table in known:
            look.retention(kept)
    return Watch(tuple(look.alerts), look.episodes)


def reopened(alerts: Iterable[Alert], now: datetime) -> Episodes:
    """The episodes that the newest alerts (newest first) leave open."""
    found: dict[Episode, datetime] = {}
    ended: set[Episode] = set()
    for alert in alerts:
        if alert.event is AlertEvent.LAG_RECOVERED:
            ended.add(Episode(alert.stream_table, AlertEvent.LAG_EXCEEDED))
        elif alert.event is AlertEvent.LAG_EXCEEDED or (alert.event in _UNSAID and now - alert.at <= REMEMBERED):
            episode = Episode(alert.stream_table, alert.event, str(alert.facts.get("source", "")))
            if episode not in ended:
                found.setdefault(episode, alert.at)
                ended.add(episode)
    return found


_UNSAID: Final = frozenset({AlertEvent.FALLING_BEHIND, AlertEvent.BUFFER_LAG_WARNING, AlertEvent.RETENTION_WARNING})
"""Events whose end no alert reports."""


@dataclass(frozen=True)
class _Sample:
    now: datetime
    before: Episodes
    alerts: list[Alert]
    episodes: dict[Episode, datetime]

    def lag(self, row: StatusRow) -> None:
        episode = Episode(row.name, AlertEvent.LAG_EXCEEDED)
        lag, target = row.current_lag, row.effective_lag
        since = self.before.get(episode)
        if lag is None:
            return
        facts: Facts = {
            "lag_seconds": _seconds(lag),
            "target_seconds": _seconds(target),
        }
        if since is not None and lag <= target:
            lasted = {"exceeded_seconds": _seconds(self.now - since)}
            self.alerts.append(Alert(AlertEvent.LAG_RECOVERED, row.name, self.now, {**facts, **lasted}))
        elif since is not None:
            self.episodes[episode] = since
        # A suspended table need not be fresh.
        elif row.is_late and row.status in _AT_WORK:
            self._begin(episode, {**facts, "last_error": row.last_error})

    def pace(self, pace: Pace, row: StatusRow) -> None:
        if len(pace.durations) < JUDGED:
            return
        takes = sorted(pace.durations[:JUDGED])[JUDGED // 2]
        allowed = (row.effective_lag - pace.period) / 2
        facts: Facts = {
            "duration_seconds": _seconds(takes),
            "allowed_seconds": _seconds(allowed),
            "period_seconds": _seconds(pace.period),
            "target_seconds": _seconds(row.effective_lag),
            "mode": row.effective_mode,
            "advice": _advice(row, takes),
        }
        self._judge(Episode(row.name, AlertEvent.FALLING_BEHIND), takes > allowed, takes <= allowed, facts)

    def buffer(self, pending: Pending, threshold: int) -> None:
        facts: Facts = {
            "source": pending.source,
            "pending_rows": pending.rows,
            "pending_bytes": pending.bytes,
            "pending_commits": pending.commits,
            "threshold_rows": threshold,
        }
        episode = Episode(pending.stream_table, AlertEvent.BUFFER_LAG_WARNING, pending.source)
        # What cannot be read now may still wait.
        over = pending.rows <= threshold // 2 and not pending.unreadable
        self._judge(episode, pending.rows > threshold, over, facts)

    def retention(self, kept: Retention) -> None:
        left = kept.left(self.now)
        facts: Facts = {
            "source": kept.source,
            "horizon": kept.horizon.isoformat(),
            "left_seconds": _seconds(left),
            "retention_seconds": _seconds(kept.retention),
        }
        near = left < kept.retention / 4
        self._judge(Episode(kept.stream_table, AlertEvent.RETENTION_WARNING, kept.source), near, not near, facts)

    def _judge(self, episode: Episode, begins: bool, is_over: bool, facts: Facts) -> None:
        since = self.before.get(episode)
        if since is None and begins:
            self._begin(episode, facts)
        elif since is not None and not is_over:
            self.episodes[episode] = since

    def _begin(self, episode: Episode, facts: Facts) -> None:
        self.alerts.append(Alert(episode.event, episode.stream_table, self.now, facts))
        self.episodes[episode] = self.now


def _advice(row: StatusRow, takes: timedelta) -> str:
    """What can be done about refreshes that take too long; a lag for which they would not is always possible."""
    # With this lag the period is at most half of it, so half of what the period leaves is at least a quarter.
    enough = timedelta(seconds=-(-4 * takes // timedelta(seconds=1)))
    lag = f"SET TARGET LAG '{format_lag(enough)}'"
    if row.effective_mode == "FULL":
        return f"every refresh recomputes the query ({row.reason or 'mode FULL'}): make it incremental, or {lag}"
    return f"see what takes the time with penstock history {row.name} --timings, optimize its tables, or {lag}"


def _seconds(duration: timedelta) -> float:
    return round(duration.total_seconds(), 3)
