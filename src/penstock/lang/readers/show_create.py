"""SHOW CREATE STREAM TABLE."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import ShowCreateStreamTable, Statement

GRAMMAR: Final = "SHOW CREATE STREAM TABLE name"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("SHOW", "CREATE", "STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return ShowCreateStreamTable(name)
