"""DROP STREAM TABLE."""

from __future__ import annotations

from typing import Final

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import DropStreamTable, Statement

GRAMMAR: Final = "DROP STREAM TABLE [IF EXISTS] name [CASCADE]"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("DROP", "STREAM", "TABLE")
    if_exists = cursor.word == "IF"
    if if_exists:
        cursor.expect("IF", "EXISTS")
    name = cursor.name()
    cascade = cursor.accept("CASCADE")
    cursor.end()
    return DropStreamTable(name, if_exists, cascade)
