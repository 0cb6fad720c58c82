"""What this process has done, counted while it happens. Starts from zero with the process.

Prometheus expects counters to start again and adds up those of several workers, so they need no place in the catalog.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from penstock.catalog.model import Alert, AlertEvent, RefreshRecord, RefreshStatus

BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
"""Seconds; a small refresh takes some tenths, a rebuild minutes."""


class ProcessCounters:
    """Counts refreshes and alerts; a sink of alerts, and an observer of refreshes."""

    name = "metrics"

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._refreshes = Counter(
            "penstock_refreshes_total",
            "Refreshes that this process has ended, by what they did and how they ended.",
            ("stream_table", "action", "status"),
            registry=self.registry,
        )
        self._durations = Histogram(
            "penstock_refresh_duration_seconds",
            "How long the refreshes of this process took.",
            ("action",),
            registry=self.registry,
            buckets=BUCKETS,
        )
        self._alerts = Counter(
            "penstock_alerts_total", "Alerts that this process has raised.", ("event",), registry=self.registry
        )
        # A rate needs a first value before the first alert.
        for event in AlertEvent:
            self._alerts.labels(event.value)

    def deliver(self, alert: Alert) -> None:
        """Count an alert."""
        self._alerts.labels(alert.event.value).inc()

    def observe(self, record: RefreshRecord) -> None:
        """Count a refresh that has ended."""
        if record.status is RefreshStatus.RUNNING or record.ended_at is None:
            return
        self._refreshes.labels(record.name, record.action.value, record.status.value).inc()
        if record.status is not RefreshStatus.SKIPPED:
            seconds = (record.ended_at - record.started_at).total_seconds()
            self._durations.labels(record.action.value).observe(max(seconds, 0.0))
