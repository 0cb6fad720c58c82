"""Information: everything the catalog knows of a stream table, with its counters and its lag."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from penstock.catalog.model import StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.monitor.status import StatusRow, Unchanged, status, unknown


def info(
    catalog: CatalogReader,
    tables: list[StreamTableMeta],
    now: datetime,
    minimum: timedelta,
    unchanged: Unchanged = unknown,
) -> list[dict[str, Any]]:
    """One mapping per stream table."""
    lines: dict[str, StatusRow] = {row.name: row for row in status(catalog, now, minimum, unchanged)}
    found = []
    for meta in tables:
        row = lines[str(meta.name)]
        counters = catalog.counters(meta.id)
        found.append(
            {
                "name": str(meta.name),
                "query": meta.query,
                "database": meta.database,
                "target_lag": row.target_lag,
                "effective_lag_seconds": row.effective_lag.total_seconds(),
                "current_lag_seconds": None if row.current_lag is None else row.current_lag.total_seconds(),
                "lag_exceeded": row.lag_exceeded,
                "warnings": list(row.warnings),
                "refresh_mode": meta.refresh_mode.value,
                "effective_mode": row.effective_mode,
                "reason": row.reason,
                "key": list(meta.key),
                "status": meta.status.value,
                "is_populated": meta.is_populated,
                "needs_reinit": meta.needs_reinit,
                "data_timestamp": meta.data_timestamp,
                "frontier": meta.frontier.to_json() if meta.frontier else None,
                "path": meta.path,
                "table_id": meta.table_id,
                "definition_hash": meta.definition_hash,
                "last_refresh_at": meta.last_refresh_at,
                "created_at": meta.created_at,
                "updated_at": meta.updated_at,
                "consecutive_errors": meta.consecutive_errors,
                "last_error": meta.last_error,
                "sources": [
                    {
                        "id": each.source_id,
                        "name": each.source_name,
                        "type": each.source_type.value,
                        "columns_used": list(each.columns_used),
                    }
                    for each in catalog.dependencies_of(meta.id)
                ],
                "refresh_count": counters.refresh_count,
                "total_refresh_duration_ms": counters.total_refresh_duration_ms,
                "rows_inserted_total": counters.rows_inserted_total,
                "rows_deleted_total": counters.rows_deleted_total,
                "skip_count": counters.skip_count,
                "error_count": counters.error_count,
                "last_lag_ms": counters.last_lag_ms,
                "max_lag_ms": counters.max_lag_ms,
                "settings": dict(meta.settings),
            }
        )
    return found
