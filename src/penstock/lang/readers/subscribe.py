"""SUBSCRIBE: where to begin, and which rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

from penstock.changes.filter.moments import read_timestamp
from penstock.lang.predicate import read_predicate
from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import Statement, Subscribe
from penstock.lang.tokens import word

GRAMMAR: Final = (
    "SUBSCRIBE name\n"
    "    [AS OF VERSION version | AS OF TIMESTAMP 'moment' | AFTER LSN lsn | WITH SNAPSHOT]\n"
    "    [WHERE condition]"
)


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("SUBSCRIBE")
    subscribed = Subscribe(cursor.name())
    if _starts(cursor):
        subscribed = _start(cursor, subscribed)
    if _starts(cursor):
        cursor.fail("only one of AS OF, AFTER LSN and WITH SNAPSHOT can be given")
    if cursor.accept("WHERE"):
        return replace(subscribed, where=_condition(cursor))
    if cursor.token:
        cursor.fail_here("AS OF, AFTER LSN, WITH SNAPSHOT, WHERE or the end of the statement")
    return subscribed


def _starts(cursor: StatementCursor) -> bool:
    return cursor.word in {"AS", "AFTER", "WITH"}


def _start(cursor: StatementCursor, subscribed: Subscribe) -> Subscribe:
    if cursor.accept("AFTER"):
        cursor.expect("LSN")
        return replace(subscribed, after_lsn=cursor.number("an LSN"))
    if cursor.accept("WITH"):
        cursor.expect("SNAPSHOT")
        return replace(subscribed, with_snapshot=True)
    cursor.expect("AS", "OF")
    if cursor.accept("VERSION"):
        return replace(subscribed, as_of_version=cursor.number("a version"))
    if not cursor.accept("TIMESTAMP"):
        cursor.fail_here("VERSION or TIMESTAMP")
    token = cursor.token
    moment = cursor.string("a quoted timestamp such as '2026-01-31 12:00:00'")
    if read_timestamp(moment) is None:
        cursor.fail("a timestamp is written as '2026-01-31 12:00:00', with an offset such as +01:00 or without", token)
    return replace(subscribed, as_of_timestamp=moment)


def _condition(cursor: StatementCursor) -> str:
    """The rest of the statement as a condition, checked and then kept as it was written."""
    rest = cursor.tokens[cursor.at :]
    if not rest:
        cursor.fail_here("a condition")
    for token, following in pairwise(rest):
        if (word(token), word(following)) in {("AS", "OF"), ("AFTER", "LSN"), ("WITH", "SNAPSHOT")}:
            cursor.fail(f"{word(token)} {word(following)} must stand before WHERE", token)
    read_predicate(cursor.text, rest)
    return cursor.text[rest[0].start : rest[-1].end + 1]
