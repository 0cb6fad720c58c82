"""REFRESH STREAM TABLES: all of them."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import RefreshStreamTables, Statement

GRAMMAR: Final = "REFRESH STREAM TABLES"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("REFRESH", "STREAM", "TABLES")
    cursor.end()
    return RefreshStreamTables()
