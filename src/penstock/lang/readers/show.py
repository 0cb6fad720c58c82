"""SHOW STREAM TABLES."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import ShowStreamTables, Statement

GRAMMAR: Final = "SHOW STREAM TABLES [LIKE 'pattern']"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("SHOW", "STREAM", "TABLES")
    like = cursor.string("a quoted pattern") if cursor.accept("LIKE") else None
    cursor.end()
    return ShowStreamTables(like)
