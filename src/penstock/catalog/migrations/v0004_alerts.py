"""Alerts are kept, a catalog can be paused, and views show to any SQL client what there is.

A view names its columns: `*` would go on meaning the columns of today in one database and not in another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.catalog.migrations import Connection

STATEMENTS = (
    """
    CREATE TABLE alerts (
        sequence      BIGINT PRIMARY KEY,
        at            TEXT NOT NULL,
        event         TEXT NOT NULL,
        stream_table  TEXT NOT NULL,
        facts         TEXT NOT NULL
    )
    """,
    "CREATE INDEX alerts_by_stream_table ON alerts (stream_table, sequence)",
    "INSERT INTO meta (key, number) VALUES ('last_alert', 0), ('paused', 0)",
)


def _views(lag: str, duration: str) -> tuple[str, ...]:
    return (
        """
        CREATE VIEW pg_stat_stream_tables AS
        SELECT s.table_name AS name, s.schema_name AS schema, c.refresh_count, c.total_refresh_duration_ms,
            c.rows_inserted_total, c.rows_deleted_total, c.skip_count, c.error_count, c.last_lag_ms, c.max_lag_ms
        FROM stream_tables s JOIN counters c ON c.stream_table_id = s.id
        """,
        f"""
        CREATE VIEW stream_tables_info AS
        SELECT id, catalog, schema_name AS schema, table_name AS name, status, refresh_mode, effective_mode,
            reason_code, reason, target_lag_seconds, {lag} AS current_lag_seconds,
            CASE WHEN {lag} > target_lag_seconds THEN 1 ELSE 0 END AS lag_exceeded,
            data_timestamp, last_refresh_at, is_populated, needs_reinit, reinit_reason, consecutive_errors, last_error,
            frontier, frontier_version, query, database_name, key_columns, table_id, path, definition_hash,
            created_at, updated_at
        FROM stream_tables
        """,
        f"""
        CREATE VIEW stream_table_refreshes AS
        SELECT h.sequence, s.schema_name AS schema, s.table_name AS name, h.refresh_id, h.action, h.status,
            h.started_at, h.ended_at, {duration} AS seconds, h.data_timestamp, h.reason, h.rows_inserted,
            h.rows_deleted, h.delta_rows, h.rows_read, h.rows_at_rest, h.rows_written, h.commit_version, h.applier,
            h.error_message, h.owner
        FROM refresh_history h JOIN stream_tables s ON s.id = h.stream_table_id
        """,
        """
        CREATE VIEW stream_table_graph AS
        SELECT s.schema_name AS schema, s.table_name AS name, d.source_name, d.source_type, d.source_kind, d.source_id,
            d.source_path, d.columns_used
        FROM stream_tables s JOIN dependencies d ON d.stream_table_id = s.id
        """,
    )


def up(connection: Connection) -> None:
    """Take the catalog from version 3 to version 4."""
    lag = f"({connection.epoch(None)} - {connection.epoch('data_timestamp')})"
    duration = f"({connection.epoch('h.ended_at')} - {connection.epoch('h.started_at')})"
    for statement in (*STATEMENTS, *_views(lag, duration)):
        connection.execute(statement)
