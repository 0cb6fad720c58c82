"""AUDIT STREAM TABLE."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import AuditStreamTable, Statement

GRAMMAR: Final = "AUDIT STREAM TABLE name"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("AUDIT", "STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return AuditStreamTable(name)
