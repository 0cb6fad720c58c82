"""The first schema.

Portable SQL: moments are ISO-8601 text in UTC of fixed width, so they sort as text; ids are drawn from `meta`, so they
are never reused; frontiers and lists are JSON text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.catalog.migrations import Connection

STATEMENTS = (
    """
    CREATE TABLE meta (
        key     TEXT PRIMARY KEY,
        number  BIGINT NOT NULL
    )
    """,
    """
    INSERT INTO meta (key, number) VALUES ('schema_version', 0), ('dag_version', 0), ('last_stream_table', 0),
        ('last_refresh', 0), ('last_known', 0)
    """,
    """
    CREATE TABLE stream_tables (
        id                  BIGINT PRIMARY KEY,
        catalog             TEXT NOT NULL,
        schema_name         TEXT NOT NULL,
        table_name          TEXT NOT NULL,
        table_id            TEXT NOT NULL UNIQUE,
        path                TEXT NOT NULL,
        query               TEXT NOT NULL,
        database_name       TEXT NOT NULL,
        settings            TEXT NOT NULL,
        target_lag_seconds  DOUBLE PRECISION,
        refresh_mode        TEXT NOT NULL CHECK (refresh_mode IN ('AUTO', 'INCREMENTAL', 'FULL')),
        key_columns         TEXT NOT NULL,
        definition_hash     TEXT NOT NULL,
        status              TEXT NOT NULL CHECK (status IN ('INITIALIZING', 'ACTIVE', 'SUSPENDED', 'ERROR')),
        is_populated        SMALLINT NOT NULL,
        data_timestamp      TEXT,
        frontier            TEXT,
        frontier_version    BIGINT,
        effective_mode      TEXT CHECK (effective_mode IN ('AUTO', 'INCREMENTAL', 'FULL')),
        reason_code         TEXT,
        reason              TEXT,
        needs_reinit        SMALLINT NOT NULL,
        reinit_reason       TEXT,
        consecutive_errors  INTEGER NOT NULL,
        last_error          TEXT,
        last_refresh_at     TEXT,
        created_at          TEXT NOT NULL,
        updated_at          TEXT NOT NULL,
        UNIQUE (catalog, schema_name, table_name)
    )
    """,
    "CREATE INDEX stream_tables_by_status ON stream_tables (status)",
    """
    CREATE TABLE dependencies (
        stream_table_id  BIGINT NOT NULL REFERENCES stream_tables (id) ON DELETE CASCADE,
        source_id        TEXT NOT NULL,
        source_name      TEXT NOT NULL,
        source_path      TEXT,
        source_type      TEXT NOT NULL CHECK (source_type IN ('TABLE', 'STREAM_TABLE', 'VIEW')),
        source_kind      TEXT NOT NULL,
        columns_used     TEXT NOT NULL,
        PRIMARY KEY (stream_table_id, source_id)
    )
    """,
    "CREATE INDEX dependencies_by_source ON dependencies (source_id)",
    """
    CREATE TABLE refresh_history (
        refresh_id       TEXT PRIMARY KEY,
        sequence         BIGINT NOT NULL,
        stream_table_id  BIGINT NOT NULL,
        name             TEXT NOT NULL,
        action           TEXT NOT NULL CHECK (action IN ('NO_DATA', 'INCREMENTAL', 'FULL', 'REINITIALIZE', 'SKIP')),
        status           TEXT NOT NULL CHECK (status IN ('RUNNING', 'COMPLETED', 'FAILED', 'SKIPPED')),
        started_at       TEXT NOT NULL,
        reason           TEXT,
        data_timestamp   TEXT,
        ended_at         TEXT,
        from_frontier    TEXT,
        to_frontier      TEXT,
        commit_version   BIGINT,
        rows_inserted    BIGINT NOT NULL,
        rows_deleted     BIGINT NOT NULL,
        delta_rows       BIGINT,
        rows_read        BIGINT,
        rows_written     BIGINT,
        applier          TEXT,
        timings          TEXT NOT NULL,
        error_message    TEXT,
        owner            TEXT,
        lease_token      BIGINT
    )
    """,
    "CREATE INDEX refresh_history_by_stamp ON refresh_history (stream_table_id, data_timestamp)",
    "CREATE INDEX refresh_history_by_sequence ON refresh_history (sequence)",
    "CREATE INDEX refresh_history_by_status ON refresh_history (status)",
    """
    CREATE TABLE counters (
        stream_table_id            BIGINT PRIMARY KEY REFERENCES stream_tables (id) ON DELETE CASCADE,
        refresh_count              BIGINT NOT NULL DEFAULT 0,
        total_refresh_duration_ms  BIGINT NOT NULL DEFAULT 0,
        rows_inserted_total        BIGINT NOT NULL DEFAULT 0,
        rows_deleted_total         BIGINT NOT NULL DEFAULT 0,
        skip_count                 BIGINT NOT NULL DEFAULT 0,
        error_count                BIGINT NOT NULL DEFAULT 0,
        last_lag_ms                BIGINT NOT NULL DEFAULT 0,
        max_lag_ms                 BIGINT NOT NULL DEFAULT 0
    )
    """,
    # No foreign key: the scheduler's own lease has no stream table. The row outlives a release, so tokens only grow.
    """
    CREATE TABLE leases (
        stream_table_id  BIGINT PRIMARY KEY,
        token            BIGINT NOT NULL,
        holder           TEXT,
        expires_at       TEXT NOT NULL,
        renewed_at       TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE known_tables (
        schema_name  TEXT NOT NULL,
        table_name   TEXT NOT NULL,
        kind         TEXT NOT NULL CHECK (kind IN ('SCHEMA', 'TABLE', 'VIEW')),
        sequence     BIGINT NOT NULL,
        path         TEXT,
        create_text  TEXT,
        provider     TEXT,
        PRIMARY KEY (schema_name, table_name)
    )
    """,
)


def up(connection: Connection) -> None:
    """Create every table of the first version."""
    for statement in STATEMENTS:
        connection.execute(statement)
