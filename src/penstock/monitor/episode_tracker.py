"""Episodes: collects what `watch` judges, and keeps the open ones from one check to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from penstock.catalog.model import Alert, RefreshRecord
from penstock.catalog.reader import CatalogReader
from penstock.graph.grid import period
from penstock.monitor.pending import PendingChanges
from penstock.monitor.status import Unchanged, status, unknown
from penstock.monitor.watch import JUDGED, Episode, Episodes, Pace, Retention, reopened, watch
from penstock.names import TableName
from penstock.settings import Settings

NEWEST_ALERTS: Final = 1000
"""Alerts of one stream table that are read to find out which of its episodes are open."""


class EpisodeTracker:
    """Judges whenever the scheduler asks it to."""

    def __init__(
        self,
        catalog: CatalogReader,
        pending: PendingChanges,
        settings: Callable[[], Settings],
        unchanged: Unchanged = unknown,
    ) -> None:
        """`unchanged` says, for each check, whose rows are right."""
        self._catalog = catalog
        self._pending = pending
        self._settings = settings
        self._unchanged = unchanged
        self._episodes: Episodes | None = None

    def judge(self, now: datetime, retention: Iterable[Retention] = ()) -> tuple[Alert, ...]:
        """The alerts to raise now."""
        settings = self._settings()
        rows = status(self._catalog, now, settings.min_target_lag, self._unchanged)
        lags = {row.name: row.effective_lag for row in rows}
        tables = [meta for meta in self._catalog.get_all() if str(meta.name) in lags]
        paces = [Pace(str(meta.name), period(lags[str(meta.name)]), self._durations(meta.id)) for meta in tables]
        if self._episodes is None:
            self._episodes = self._reopened(lags, now)
        # A table of the same name that was dropped has taken its episodes along.
        born = {str(meta.name): meta.created_at for meta in tables if meta.created_at is not None}
        held = {
            episode: since
            for episode, since in self._episodes.items()
            if since >= born.get(episode.stream_table, since)
        }
        seen = watch(
            rows,
            now,
            open_before=held,
            pending=self._pending(),
            retention=retention,
            paces=paces,
            buffer_rows=settings.buffer_warning_rows,
        )
        self._episodes = seen.episodes
        return seen.alerts

    def forget(self) -> None:
        """Forget the open episodes: another process may judge from now on. The next check asks the catalog for them."""
        self._episodes = None

    def _durations(self, stream_table_id: int) -> tuple[timedelta, ...]:
        runs: list[RefreshRecord] = self._catalog.effective_runs(stream_table_id, JUDGED)
        return tuple(run.ended_at - run.started_at for run in runs if run.ended_at is not None)

    def _reopened(self, names: Iterable[str], now: datetime) -> Episodes:
        found: dict[Episode, datetime] = {}
        for name in names:
            found |= reopened(self._catalog.recent_alerts(TableName.parse(name), NEWEST_ALERTS), now)
        return found
