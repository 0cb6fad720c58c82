"""A stream table is defined by one query; everything else is refused before Spark sees it."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import QueryInvalid
from penstock.lang.classify import classify
from penstock.lang.split import split_statements
from penstock.lang.tokens import Token, Unreadable, lines_at, read_tokens

_FIX = "Give a single query that begins with SELECT, WITH, VALUES, FROM or TABLE."


def check_query(text: str) -> str:
    """The query in `text`, without a final semicolon and what follows it.

    >>> check_query("SELECT 1 AS one;")
    'SELECT 1 AS one'
    """
    try:
        statements = split_statements(read_tokens(text))
    except Unreadable as unreadable:
        raise QueryInvalid(why=unreadable.why + lines_at(text, unreadable.offset), fix=_FIX) from None
    if not statements:
        raise QueryInvalid(why="it is empty", fix=_FIX)
    if len(statements) > 1:
        why = f"it holds {len(statements)} statements" + lines_at(text, statements[1][0].start)
        raise QueryInvalid(why=why, fix=_FIX)
    refuse_other_than_query(text, statements[0])
    return text[: statements[0][-1].end + 1].strip()


def refuse_other_than_query(text: str, tokens: Sequence[Token]) -> None:
    """Raise unless the one statement in `tokens`, a part of `text`, is a query."""
    found = classify("", tokens)
    if found.kind == "query":
        return
    shown = found.verb or tokens[0].text
    why = {"dml": f"{shown} changes data", "ddl": f"{shown} changes definitions"}
    where = lines_at(text, tokens[0].start)
    raise QueryInvalid(why=why.get(found.kind, f"a query does not begin with {shown}") + where, fix=_FIX)
