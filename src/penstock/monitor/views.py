"""What people look at, as views in SQL: `SELECT * FROM penstock_stats`.

A statement that names one of them sees the catalog as it is at that moment. They are no views of Spark's catalog: a
stored view cannot read them, a stored table can be made from them. A table or view of the user's of that name wins.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from penstock.catalog.reader import CatalogReader
from penstock.engine.read.rows_as_view import NamedRows
from penstock.monitor.info import info
from penstock.monitor.picture import picture
from penstock.monitor.stats import StatsRow, stats
from penstock.monitor.status import Unchanged, status, unknown

NEWEST: Final = 10_000
"""Rows of history and alerts that are shown."""

Columns = tuple[tuple[str, str], ...]

_STATUS: Final[Columns] = (
    ("name", "STRING"),
    ("status", "STRING"),
    ("refresh_mode", "STRING"),
    ("effective_mode", "STRING"),
    ("reason", "STRING"),
    ("target_lag", "STRING"),
    ("effective_lag_seconds", "DOUBLE"),
    ("current_lag_seconds", "DOUBLE"),
    ("lag_exceeded", "BOOLEAN"),
    ("last_refresh", "TIMESTAMP"),
    ("data_timestamp", "TIMESTAMP"),
    ("errors", "BIGINT"),
    ("last_error", "STRING"),
    ("blocked_by", "ARRAY<STRING>"),
    ("warnings", "ARRAY<STRING>"),
    ("expected_wait_seconds", "DOUBLE"),
)
_STATS: Final[Columns] = tuple(
    (field.name, "STRING" if field.type == "str" else "BIGINT") for field in dataclasses.fields(StatsRow)
)
_INFO: Final[Columns] = (
    ("name", "STRING"),
    ("query", "STRING"),
    ("database", "STRING"),
    ("target_lag", "STRING"),
    ("refresh_mode", "STRING"),
    ("effective_mode", "STRING"),
    ("reason", "STRING"),
    ("key", "ARRAY<STRING>"),
    ("status", "STRING"),
    ("is_populated", "BOOLEAN"),
    ("needs_reinit", "BOOLEAN"),
    ("data_timestamp", "TIMESTAMP"),
    ("frontier", "STRING"),
    ("path", "STRING"),
    ("table_id", "STRING"),
    ("sources", "ARRAY<STRING>"),
    ("last_refresh_at", "TIMESTAMP"),
    ("created_at", "TIMESTAMP"),
    ("updated_at", "TIMESTAMP"),
    ("consecutive_errors", "BIGINT"),
    ("last_error", "STRING"),
)
_HISTORY: Final[Columns] = (
    ("refresh_id", "STRING"),
    ("name", "STRING"),
    ("action", "STRING"),
    ("status", "STRING"),
    ("reason", "STRING"),
    ("started_at", "TIMESTAMP"),
    ("ended_at", "TIMESTAMP"),
    ("seconds", "DOUBLE"),
    ("data_timestamp", "TIMESTAMP"),
    ("commit_version", "BIGINT"),
    ("rows_inserted", "BIGINT"),
    ("rows_deleted", "BIGINT"),
    ("delta_rows", "BIGINT"),
    ("rows_read", "BIGINT"),
    ("rows_at_rest", "BIGINT"),
    ("rows_written", "BIGINT"),
    ("applier", "STRING"),
    ("error_message", "STRING"),
)
_GRAPH: Final[Columns] = (("name", "STRING"), ("source_name", "STRING"), ("source_type", "STRING"))
_ALERTS: Final[Columns] = (("at", "TIMESTAMP"), ("event", "STRING"), ("name", "STRING"), ("facts", "STRING"))

_NAMED: Final = re.compile(r"\bpenstock_(?:status|stats|info|history|graph|alerts)\b", re.IGNORECASE)


def views_in(
    text: str, catalog: CatalogReader, now: datetime, minimum: timedelta, unchanged: Unchanged = unknown
) -> list[NamedRows]:
    """The views that a statement names; one named in a comment is shown to no purpose, and does no harm."""
    wanted = {found.lower() for found in _NAMED.findall(text)}
    return [each for each in _views(catalog, now, minimum, unchanged) if each.name in wanted] if wanted else []


def _views(catalog: CatalogReader, now: datetime, minimum: timedelta, unchanged: Unchanged) -> Sequence[NamedRows]:
    def named(name: str, columns: Columns, values: Callable[[], Sequence[dict[str, Any]]]) -> NamedRows:
        def rows() -> list[tuple[Any, ...]]:
            return [tuple(row[column] for column, _ in columns) for row in values()]

        return NamedRows(name, columns, rows)

    return (
        named("penstock_status", _STATUS, lambda: _status(catalog, now, minimum, unchanged)),
        named("penstock_stats", _STATS, lambda: [row.to_json() for row in stats(catalog)]),
        named("penstock_info", _INFO, lambda: _info(catalog, now, minimum, unchanged)),
        named("penstock_history", _HISTORY, lambda: _history(catalog)),
        named("penstock_graph", _GRAPH, lambda: picture(catalog).to_json()),
        named("penstock_alerts", _ALERTS, lambda: _alerts(catalog)),
    )


def _status(catalog: CatalogReader, now: datetime, minimum: timedelta, unchanged: Unchanged) -> list[dict[str, Any]]:
    return [
        {
            **dataclasses.asdict(row),
            "effective_lag_seconds": row.effective_lag.total_seconds(),
            "expected_wait_seconds": row.expected_wait.total_seconds(),
            "current_lag_seconds": None if row.current_lag is None else row.current_lag.total_seconds(),
            "blocked_by": list(row.blocked_by),
            "warnings": list(row.warnings),
        }
        for row in status(catalog, now, minimum, unchanged)
    ]


def _info(catalog: CatalogReader, now: datetime, minimum: timedelta, unchanged: Unchanged) -> list[dict[str, Any]]:
    return [
        {
            **row,
            "frontier": None if row["frontier"] is None else json.dumps(row["frontier"]),
            "sources": [source["name"] for source in row["sources"]],
        }
        for row in info(catalog, catalog.get_all(), now, minimum, unchanged)
    ]


def _history(catalog: CatalogReader) -> list[dict[str, Any]]:
    return [
        {
            **{column: getattr(each, column) for column, _ in _HISTORY if column != "seconds"},
            "action": each.action.value,
            "status": each.status.value,
            "seconds": None if each.ended_at is None else (each.ended_at - each.started_at).total_seconds(),
        }
        for each in catalog.recent_history(None, NEWEST)
    ]


def _alerts(catalog: CatalogReader) -> list[dict[str, Any]]:
    return [
        {"at": each.at, "event": each.event.value, "name": each.stream_table, "facts": json.dumps(dict(each.facts))}
        for each in catalog.recent_alerts(None, NEWEST)
    ]
