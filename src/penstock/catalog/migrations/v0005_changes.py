"""Durable subscriptions keep their positions, and the changes of all stream tables have one order.

The journal has a row for each commit of each stream table that changed rows: where its events begin in the order of all
(`position`), and where in the stream table's own changelog (`first_lsn`). A stream table says how far that changelog
has got (`last_lsn`), for the time when the log no longer does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.catalog.migrations import Connection

STATEMENTS = (
    """
    CREATE TABLE subscriptions (
        name            TEXT PRIMARY KEY,
        table_id        TEXT NOT NULL,
        stream_table    TEXT NOT NULL,
        acknowledged    BIGINT NOT NULL,
        created_at      TEXT NOT NULL,
        acknowledged_at TEXT
    )
    """,
    "CREATE INDEX subscriptions_by_table ON subscriptions (table_id)",
    """
    CREATE TABLE journal (
        position        BIGINT PRIMARY KEY,
        events          BIGINT NOT NULL,
        table_id        TEXT NOT NULL,
        stream_table    TEXT NOT NULL,
        version         BIGINT NOT NULL,
        first_lsn       BIGINT NOT NULL,
        UNIQUE (table_id, version)
    )
    """,
    "ALTER TABLE stream_tables ADD COLUMN last_lsn BIGINT",
    "INSERT INTO meta (key, number) VALUES ('last_position', 0)",
)


def up(connection: Connection) -> None:
    """Take the catalog from version 4 to version 5."""
    for statement in STATEMENTS:
        connection.execute(statement)
