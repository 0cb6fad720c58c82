"""DESCRIBE STREAM TABLE: its columns, and with EXTENDED what else is known of it."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import DescribeStreamTable, Statement

GRAMMAR: Final = "DESCRIBE [EXTENDED] STREAM TABLE name"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.at = 1  # DESCRIBE or DESC: how the statement was recognised
    extended = cursor.accept("EXTENDED")
    cursor.expect("STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return DescribeStreamTable(name, extended)
