"""DESCRIBE HISTORY STREAM TABLE. Plain DESCRIBE HISTORY is Delta's own."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import DescribeHistory, Statement

GRAMMAR: Final = "DESCRIBE HISTORY STREAM TABLE name [LIMIT rows]"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.at = 4  # DESCRIBE or DESC, then HISTORY STREAM TABLE: how the statement was recognised
    name = cursor.name()
    limit = cursor.number("a number of rows") if cursor.accept("LIMIT") else None
    cursor.end()
    return DescribeHistory(name, limit)
