"""Monitoring of one open warehouse: its alerts, its counters and its pages in one object.

`tell` and `observe` are what refreshes call, `check` what the scheduler's loop calls; none of them waits or raises.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from penstock.catalog.model import Alert, RefreshRecord
from penstock.catalog.writer import CatalogWriter
from penstock.engine.run.workspace import Logs
from penstock.layout.retention import held_by_subscribers, holdings
from penstock.monitor.announce import Announcer, Sink
from penstock.monitor.background import Background
from penstock.monitor.episode_tracker import EpisodeTracker
from penstock.monitor.health import Health, health
from penstock.monitor.http import Page, Pages, Server, serve
from penstock.monitor.lineage import Lineage
from penstock.monitor.pending import PendingChanges
from penstock.monitor.process_counters import ProcessCounters
from penstock.monitor.prometheus import CONTENT_TYPE, Metrics
from penstock.monitor.sinks.callback import CallbackSink, Listener
from penstock.monitor.sinks.log import LogSink
from penstock.monitor.sinks.table import TableSink
from penstock.monitor.sinks.webhook import WebhookSink
from penstock.monitor.status import Unchanged, status, unknown
from penstock.monitor.watch import Retention
from penstock.settings import Settings

EVERY: Final = timedelta(seconds=5)
"""Between two looks of a scheduler; alerts speak of minutes."""

AWAY: Final = timedelta(minutes=1)
"""Without a look for so long, the open episodes are read from the catalog again."""

_log = logging.getLogger("penstock.monitor")


class Monitor:
    """One per open warehouse."""

    def __init__(
        self,
        catalog: CatalogWriter,
        settings: Callable[[], Settings],
        logs: Logs,
        now: Callable[[], datetime],
        namespace: str,
        lost: Callable[[], Sequence[str]] = tuple,
        unchanged: Unchanged = unknown,
    ) -> None:
        """`namespace` is what lineage calls the warehouse; `lost`, which stream tables the catalog does not know;
        `unchanged`, for each report, whose rows are right.

        Where alerts and lineage go is settled here; other settings are looked up as they are needed.
        """
        self._catalog = catalog
        self._logs = logs
        self._now = now
        self._settings = settings
        self._lost = lost
        self._unchanged = unchanged
        url, lineage = settings().alert_webhook_url, settings().lineage_url
        self._callbacks = CallbackSink()
        self._webhook = WebhookSink(url) if url else None
        self._lineage = Lineage(lineage, namespace, catalog, logs) if lineage else None
        self._counters = ProcessCounters()
        self._servers: list[Server] = []
        self._checks = Background("alert-check", self._judge_again, capacity=1)
        self._checked_at: datetime | None = None
        sinks: list[Sink] = [LogSink(), TableSink(catalog), self._counters, self._callbacks]
        self._announcer = Announcer([*sinks, self._webhook] if self._webhook else sinks)
        self.pending = PendingChanges(catalog, logs)
        self._episodes = EpisodeTracker(catalog, self.pending, settings, unchanged)
        self._metrics = Metrics(catalog, now, self._minimum_lag, self.pending, self._counters, self._troubles)

    def tell(self, alert: Alert) -> None:
        """Pass an alert on to every sink."""
        self._announcer(alert)

    def observe(self, record: RefreshRecord) -> None:
        """Take note of a refresh that starts or ends."""
        try:
            self._counters.observe(record)
            if self._lineage is not None:
                self._lineage.observe(record)
        except Exception as error:
            # A refresh that is done must not fail for having been counted.
            _log.warning("a refresh was not counted: %s", error, extra={"stream_table": record.name})

    def judge(self, now: datetime, retention: Iterable[Retention] = ()) -> tuple[Alert, ...]:
        """Judge lags, pace, waiting changes and retention; alerts go to every sink, and are returned."""
        alerts = self._episodes.judge(now, retention)
        for alert in alerts:
            self.tell(alert)
        return alerts

    def check(self) -> None:
        """Look every few seconds, on a thread of its own, however often this is called."""
        now, before = self._now(), self._checked_at
        # A clock that was set back must not silence it.
        if before is not None and timedelta(0) <= now - before < EVERY:
            return
        self._checked_at = now
        # After a while without a look another process may have led, and raised alerts; the catalog knows.
        anew = before is None or now - before > AWAY
        self._checks.put((now, anew))

    def _judge_again(self, asked: tuple[datetime, bool]) -> None:
        now, anew = asked
        if anew:
            self._episodes.forget()
        self.judge(now, self._retention())

    def _retention(self) -> list[Retention]:
        tables = holdings(self._catalog, self._logs, self._catalog.get_all())
        found = [Retention(each.stream_table, each.source, *each.ends[:2]) for each in tables if each.ends is not None]
        # A subscription holds the stream table's own past, and is what that table is warned about.
        readers = held_by_subscribers(self._catalog, self._logs)
        return found + [
            Retention(each.source, each.stream_table, *each.ends[:2]) for each in readers if each.ends is not None
        ]

    def on_alert(self, listener: Listener) -> Callable[[], None]:
        """Call a function for every alert; returns what ends it."""
        return self._callbacks.add(listener)

    def health(self) -> Health:
        """Whether anything needs a person."""
        return health(self._catalog, self._now(), self._minimum_lag(), self._lost, self._unchanged)

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        """Answer `/metrics`, `/health`, `/ready` and `/status` until the server, or this, is closed."""
        server = serve(self.pages(), host, port)
        self._servers.append(server)
        return server

    def pages(self) -> Pages:
        """What is served."""
        return {
            "/metrics": lambda: Page(self._metrics.text(), CONTENT_TYPE),
            "/health": self._health_page,
            "/ready": self._ready_page,
            "/status": lambda: Page.of(self._status()),
        }

    def close(self) -> None:
        """Stop answering, and let what waits be delivered, within seconds."""
        for server in self._servers:
            server.close()
        self._checks.close()
        for each in self._backgrounds():
            each.close()

    def _health_page(self) -> Page:
        found = self.health()
        return Page.of(found.to_json(), HTTPStatus.OK if found.healthy else HTTPStatus.SERVICE_UNAVAILABLE)

    def _ready_page(self) -> Page:
        ready = self.health().catalog
        return Page.of({"ready": ready}, HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE)

    def _status(self) -> dict[str, Any]:
        now = self._now()
        rows = status(self._catalog, now, self._minimum_lag(), self._unchanged)
        return {"at": now.isoformat(), "stream_tables": [row.to_json() for row in rows]}

    def _minimum_lag(self) -> timedelta:
        return self._settings().min_target_lag

    def _backgrounds(self) -> list[Background[Any]]:
        owners = (self._callbacks, self._webhook, self._lineage)
        return [owner.background for owner in owners if owner is not None]

    def _troubles(self) -> Mapping[str, tuple[int, int]]:
        found = {sink: (0, failed) for sink, failed in self._announcer.failures.items()}
        for each in self._backgrounds():
            found[each.name] = each.dropped, each.failed + found.get(each.name, (0, 0))[1]
        return found
