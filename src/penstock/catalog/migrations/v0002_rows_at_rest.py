"""History says how many rows a query's sources held, beside the rows that a refresh read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.catalog.migrations import Connection


def up(connection: Connection) -> None:
    """Take the catalog from version 1 to version 2."""
    connection.execute("ALTER TABLE refresh_history ADD COLUMN rows_at_rest BIGINT")
