"""OPTIMIZE STREAM TABLE. Plain OPTIMIZE is Delta's own."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import OptimizeStreamTable, Statement

GRAMMAR: Final = "OPTIMIZE STREAM TABLE name"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("OPTIMIZE", "STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return OptimizeStreamTable(name)
