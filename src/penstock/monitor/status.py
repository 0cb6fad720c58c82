"""Status: one line per stream table, with how far behind it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from penstock.catalog.model import Dependency, Status, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.compile.reasons import with_link
from penstock.graph.cycles import in_circles
from penstock.graph.dag import StreamGraph
from penstock.graph.lag import format_lag, resolve_lags
from penstock.graph.order import without_circles
from penstock.graph.wait import expected_waits

IsUnchanged = Callable[[StreamTableMeta], bool]
"""Says of a stream table whether its rows are right however old, because nothing they come from has changed."""

Unchanged = Callable[[Iterable[StreamTableMeta], Iterable[Dependency]], IsUnchanged]
"""Given all stream tables and what they read, gives who says so for one report."""


def unknown(_: Iterable[StreamTableMeta], __: Iterable[Dependency]) -> IsUnchanged:
    """Without logs to look at, rows are as stale as they are old."""
    return lambda _: False


@dataclass(frozen=True, slots=True)
class StatusRow:
    """How one stream table is doing."""

    name: str
    status: str
    refresh_mode: str
    effective_mode: str | None
    reason: str | None
    target_lag: str
    effective_lag: timedelta
    current_lag: timedelta | None
    lag_exceeded: bool
    last_refresh: datetime | None
    data_timestamp: datetime | None
    errors: int
    last_error: str | None
    blocked_by: tuple[str, ...] = ()
    """Stream tables upstream of it (itself, in a circle) that are stopped; until they go on it stays where it is."""
    warnings: tuple[str, ...] = ()
    """What its lag costs without its owner having asked for it."""
    expected_wait: timedelta = timedelta(0)
    """How long it waits for the stream tables that it reads, if their refreshes take what they took on average."""
    unchanged: bool = False
    """Older than its lag, and right all the same: nothing that its rows come from has changed."""

    @property
    def is_late(self) -> bool:
        """True if its promise is broken by so much that a person should know."""
        return self.current_lag is not None and self.current_lag > 2 * self.effective_lag and not self.unchanged

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        fields = asdict(self)
        fields["effective_lag"] = self.effective_lag.total_seconds()
        fields["expected_wait"] = self.expected_wait.total_seconds()
        fields["current_lag"] = None if self.current_lag is None else self.current_lag.total_seconds()
        for name in ("blocked_by", "warnings"):
            fields[name] = list(fields[name])
        for name in ("last_refresh", "data_timestamp"):
            fields[name] = fields[name].isoformat() if fields[name] else None
        return fields


def status(
    catalog: CatalogReader, now: datetime, minimum: timedelta, unchanged: Unchanged = unknown
) -> list[StatusRow]:
    """Every stream table, by name; what is older than its lag is asked whether it is `unchanged`."""
    tables, dependencies = catalog.get_all(), catalog.all_dependencies()
    graph = StreamGraph.build(tables, dependencies)
    ordered = without_circles(graph)
    lags = resolve_lags(ordered, minimum)
    waits = expected_waits(ordered, _durations(catalog, tables))
    stopped = {meta.table_id: str(meta.name) for meta in tables if meta.status in {Status.SUSPENDED, Status.ERROR}}
    if ordered is not graph:
        stopped |= {node.key: node.name for node in in_circles(graph)}
    is_unchanged = unchanged(tables, dependencies)
    rows = []
    for meta in tables:
        held = lags[meta.table_id]
        current = None if meta.data_timestamp is None else max(now - meta.data_timestamp, timedelta(0))
        is_old = current is not None and current > held.lag
        still = is_old and is_unchanged(meta)
        reason = f"{meta.reason_code}: {meta.reason}" if meta.reason_code and meta.reason else meta.reason_code
        rows.append(
            StatusRow(
                name=str(meta.name),
                status=meta.status.value,
                refresh_mode=meta.refresh_mode.value,
                effective_mode=meta.effective_mode.value if meta.effective_mode else None,
                reason=_rebuild(meta) if meta.needs_reinit else reason,
                target_lag=format_lag(meta.target_lag),
                effective_lag=held.lag,
                current_lag=current,
                lag_exceeded=is_old and not still,
                last_refresh=meta.last_refresh_at,
                data_timestamp=meta.data_timestamp,
                errors=meta.consecutive_errors,
                last_error=meta.last_error,
                blocked_by=tuple(sorted(stopped[key] for key in graph.upstream(meta.table_id) & stopped.keys())),
                warnings=held.warnings,
                expected_wait=waits[meta.table_id],
                unchanged=still,
            )
        )
    return rows


def _rebuild(meta: StreamTableMeta) -> str:
    code = "ON_REQUEST"
    return f"{code}: {with_link(code, meta.reinit_reason or 'a rebuild was asked for')}"


def _durations(catalog: CatalogReader, tables: Iterable[StreamTableMeta]) -> dict[str, timedelta]:
    """What a refresh of each stream table takes on average, by its table."""
    by_id = {each.stream_table_id: each for each in catalog.all_counters() if each.refresh_count}
    return {
        meta.table_id: timedelta(milliseconds=held.total_refresh_duration_ms / held.refresh_count)
        for meta in tables
        if (held := by_id.get(meta.id)) is not None
    }
