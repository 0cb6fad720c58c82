"""The catalog names its warehouse: one row with the warehouse's id and the place where it was opened last.

`becoming` and `becoming_place` are set while a copy is being made a warehouse of its own. Paths inside the warehouse
are relative to it from here on; those that were written before are brought into that form when the warehouse is opened,
because only then its folder is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.catalog.migrations import Connection


def up(connection: Connection) -> None:
    """Take the catalog from version 5 to version 6."""
    connection.execute(
        """
        CREATE TABLE warehouse (
            only_row        SMALLINT PRIMARY KEY CHECK (only_row = 1),
            id              TEXT NOT NULL,
            place           TEXT NOT NULL,
            host            TEXT NOT NULL,
            copy_of         TEXT NOT NULL,
            becoming        TEXT,
            becoming_place  TEXT
        )
        """
    )
