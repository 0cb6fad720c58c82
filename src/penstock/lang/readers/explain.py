"""EXPLAIN STREAM TABLE, of a name or of a query."""

from __future__ import annotations

from typing import Final

from penstock.lang.clauses import QUERY_STARTS
from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import ExplainStreamTable, Statement

GRAMMAR: Final = "EXPLAIN [EXTENDED] STREAM TABLE name | query"


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("EXPLAIN")
    extended = cursor.accept("EXTENDED")
    cursor.expect("STREAM", "TABLE")
    if cursor.word in QUERY_STARTS:
        return ExplainStreamTable(query=cursor.query(), extended=extended)
    name = cursor.name("a stream table name or a query")
    cursor.end()
    return ExplainStreamTable(name=name, extended=extended)
