"""Alerts are kept, and a catalog can be paused."""

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


def up(connection: Connection) -> None:
    """Take the catalog from version 3 to version 4."""
    for statement in STATEMENTS:
        connection.execute(statement)
