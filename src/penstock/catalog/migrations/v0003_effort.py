"""History says how many bytes a refresh had to do with, and which operators the query consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.catalog.migrations import Connection


def up(connection: Connection) -> None:
    """Take the catalog from version 2 to version 3."""
    for column in ("delta_bytes", "bytes_read", "bytes_at_rest", "bytes_written"):
        connection.execute(f"ALTER TABLE refresh_history ADD COLUMN {column} BIGINT")
    connection.execute("ALTER TABLE refresh_history ADD COLUMN operators TEXT NOT NULL DEFAULT '[]'")
