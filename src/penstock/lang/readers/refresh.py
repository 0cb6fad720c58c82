"""REFRESH STREAM TABLE."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import RefreshStreamTable, Statement

GRAMMAR: Final = "REFRESH STREAM TABLE name"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("REFRESH", "STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return RefreshStreamTable(name)
