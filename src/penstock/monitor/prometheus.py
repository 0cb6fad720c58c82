"""Metrics for Prometheus: what the catalog says at the moment of the scrape, beside the counters of this process.

A catalog that does not answer is `penstock_catalog_up 0`, and everything that comes from it is left out: a gap in a
graph says more than an old value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from penstock.catalog.model import SCHEDULER, Status
from penstock.catalog.reader import CatalogReader
from penstock.errors import PenstockError
from penstock.monitor.pending import PendingChanges
from penstock.monitor.process_counters import ProcessCounters
from penstock.monitor.stats import stats
from penstock.monitor.status import status
from penstock.version import VERSION

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Troubles = Callable[[], Mapping[str, tuple[int, int]]]
"""Sink → (dropped, failed)."""


class Metrics(Collector):
    """Collects when it is asked."""

    def __init__(
        self,
        catalog: CatalogReader,
        now: Callable[[], datetime],
        minimum: Callable[[], timedelta],
        pending: PendingChanges,
        counters: ProcessCounters,
        troubles: Troubles,
    ) -> None:
        self._catalog = catalog
        self._now = now
        self._minimum = minimum
        self._pending = pending
        self._counters = counters
        self._troubles = troubles
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """The page that Prometheus scrapes."""
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        """Nothing: registering must not read the catalog."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Every metric."""
        yield InfoMetricFamily("penstock_build", "The version of Penstock.", {"version": VERSION})
        yield from self._of_sinks()
        yield from self._counters.registry.collect()
        up = GaugeMetricFamily("penstock_catalog_up", "1 if the catalog answers.")
        try:
            found = [*self._of_stream_tables(), *self._of_sources(), *self._of_scheduler()]
        except PenstockError:
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        yield from found

    def _of_stream_tables(self) -> Iterable[Metric]:
        labels = ("stream_table",)
        lag = GaugeMetricFamily("penstock_lag_seconds", "How old the rows are.", labels=labels)
        target = GaugeMetricFamily("penstock_target_lag_seconds", "How old they may get.", labels=labels)
        state = GaugeMetricFamily(
            "penstock_stream_table_status", "1 for the status that it has.", labels=(*labels, "status")
        )
        errors = GaugeMetricFamily("penstock_consecutive_errors", "Countable errors in a row.", labels=labels)
        for row in status(self._catalog, self._now(), self._minimum()):
            if row.current_lag is not None:
                lag.add_metric((row.name,), row.current_lag.total_seconds())
            target.add_metric((row.name,), row.effective_lag.total_seconds())
            errors.add_metric((row.name,), row.errors)
            for each in Status:
                state.add_metric((row.name, each.value), float(row.status == each))
        yield from (lag, target, state, errors)
        work = SummaryMetricFamily(
            "penstock_stream_table_refresh_seconds",
            "Refreshes of all processes, and the time they took.",
            labels=labels,
        )
        inserted = CounterMetricFamily("penstock_rows_inserted", "Rows that refreshes inserted.", labels=labels)
        deleted = CounterMetricFamily("penstock_rows_deleted", "Rows that refreshes deleted.", labels=labels)
        failed = CounterMetricFamily("penstock_refresh_errors", "Refreshes that failed.", labels=labels)
        skipped = CounterMetricFamily("penstock_refresh_skips", "Refreshes that were skipped.", labels=labels)
        most = GaugeMetricFamily("penstock_max_lag_seconds", "The oldest that rows have been.", labels=labels)
        for total in stats(self._catalog):
            name = (total.name,)
            work.add_metric(name, total.refresh_count, total.total_refresh_duration_ms / 1000)
            inserted.add_metric(name, total.rows_inserted_total)
            deleted.add_metric(name, total.rows_deleted_total)
            failed.add_metric(name, total.error_count)
            skipped.add_metric(name, total.skip_count)
            most.add_metric(name, total.max_lag_ms / 1000)
        yield from (work, inserted, deleted, failed, skipped, most)

    def _of_sources(self) -> Iterable[Metric]:
        labels = ("stream_table", "source")
        rows = GaugeMetricFamily("penstock_pending_rows", "Change rows that wait to be read.", labels=labels)
        size = GaugeMetricFamily("penstock_pending_bytes", "Bytes of the files that hold them.", labels=labels)
        commits = GaugeMetricFamily("penstock_pending_commits", "Commits that made them.", labels=labels)
        blind = GaugeMetricFamily(
            "penstock_pending_unreadable", "1 if the changes since the frontier cannot be read.", labels=labels
        )
        for each in self._pending():
            edge = each.stream_table, each.source
            blind.add_metric(edge, float(each.unreadable))
            if not each.unreadable:
                rows.add_metric(edge, each.rows)
                size.add_metric(edge, each.bytes)
                commits.add_metric(edge, each.commits)
        yield from (rows, size, commits, blind)

    def _of_scheduler(self) -> Iterable[Metric]:
        lease = self._catalog.get_lease(SCHEDULER)
        alive = lease is not None and lease.expires_at > self._catalog.now()
        yield GaugeMetricFamily("penstock_scheduler_up", "1 if a scheduler holds its lease.", value=float(alive))
        yield GaugeMetricFamily(
            "penstock_scheduler_paused", "1 while no refresh is started.", value=float(self._catalog.paused())
        )
        leader = GaugeMetricFamily("penstock_scheduler_leader", "1 for the process that schedules.", labels=("holder",))
        beat = GaugeMetricFamily(
            "penstock_scheduler_heartbeat_timestamp_seconds", "When the scheduler last renewed its lease."
        )
        if lease is not None:
            leader.add_metric((lease.holder,), float(alive))
            beat.add_metric((), lease.renewed_at.timestamp())
        yield from (leader, beat)

    def _of_sinks(self) -> Iterable[Metric]:
        dropped = CounterMetricFamily(
            "penstock_sink_dropped", "Items dropped because a queue was full.", labels=("sink",)
        )
        failed = CounterMetricFamily("penstock_sink_failures", "Items that a sink could not take.", labels=("sink",))
        for sink, (lost, raised) in self._troubles().items():
            dropped.add_metric((sink,), lost)
            failed.add_metric((sink,), raised)
        yield from (dropped, failed)
