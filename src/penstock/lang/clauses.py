"""Clauses that several statements have in common."""

from __future__ import annotations

from typing import Final, cast

from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import RefreshMode
from penstock.lang.tokens import TokenType, is_word

LAG: Final = "'5 minutes' | DOWNSTREAM"
MODE: Final = "AUTO | INCREMENTAL | FULL"
QUERY_STARTS: Final = {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "("}


def read_lag(cursor: StatementCursor) -> str | None:
    """A lag as text, or None for DOWNSTREAM; TARGET LAG itself has been read."""
    if cursor.accept("DOWNSTREAM"):
        return None
    return cursor.string("a quoted duration such as '5 minutes', or DOWNSTREAM")


def read_mode(cursor: StatementCursor) -> RefreshMode:
    """A refresh mode; REFRESH MODE itself has been read."""
    if cursor.word not in {"AUTO", "INCREMENTAL", "FULL"}:
        cursor.fail_here("AUTO, INCREMENTAL or FULL")
    mode = cursor.word
    cursor.at += 1
    return cast(RefreshMode, mode)


def read_key(cursor: StatementCursor) -> tuple[str, ...]:
    """Column names in parentheses, no two alike."""
    cursor.expect("(")
    columns: list[str] = []
    while True:
        token = cursor.token
        if token is None or not (is_word(token) or token.token_type is TokenType.IDENTIFIER):
            cursor.fail_here("a column name")
        if token.text.lower() in (column.lower() for column in columns):
            cursor.fail(f"column {token.text} stands twice in KEY")
        columns.append(token.text)
        cursor.at += 1
        if cursor.accept(")"):
            return tuple(columns)
        if not cursor.accept(","):
            cursor.fail_here("',' or ')'")
