"""Text → statements.

A statement is ours if its leading words say so; every other statement passes through to Spark as it was written. Ours
are read token by token, refused with the place and the grammar when they do not fit, and their queries are exact
slices of the source: comments stay, nothing is rendered again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NoReturn, cast

from penstock.changes.moments import read_timestamp
from penstock.errors import InvalidStatement
from penstock.lang.check_query import refuse_other_than_query
from penstock.lang.classify import classify, read_name
from penstock.lang.predicate import read_predicate
from penstock.lang.split import split_statements
from penstock.lang.statements import (
    AlterStreamTable,
    AuditStreamTable,
    CreateStreamTable,
    DescribeHistory,
    DropStreamTable,
    ExplainStreamTable,
    OptimizeStreamTable,
    RefreshMode,
    RefreshStreamTable,
    ShowStreamTables,
    Statement,
    Subscribe,
)
from penstock.lang.token_cursor import TokenCursor
from penstock.lang.tokens import Token, TokenType, Unreadable, is_word, lines_at, read_tokens, word
from penstock.names import TableName

_LAG = "'5 minutes' | DOWNSTREAM"
_MODE = "AUTO | INCREMENTAL | FULL"

GRAMMAR = {
    "CREATE": "CREATE [OR REPLACE] STREAM TABLE [IF NOT EXISTS] name\n"
    f"    [TARGET LAG {_LAG}] [REFRESH MODE {_MODE}]\n"
    "    [INITIALIZE ON CREATE | ON SCHEDULE] [KEY (column, …)]\n"
    "    AS query",
    "ALTER": f"ALTER STREAM TABLE name\n    SET TARGET LAG {_LAG} | SET REFRESH MODE {_MODE}\n"
    "    | SUSPEND | RESUME | AS query",
    "DROP": "DROP STREAM TABLE [IF EXISTS] name [CASCADE]",
    "REFRESH": "REFRESH STREAM TABLE name",
    "SHOW": "SHOW STREAM TABLES [LIKE 'pattern']",
    "DESCRIBE": "DESCRIBE HISTORY STREAM TABLE name [LIMIT rows]",
    "EXPLAIN": "EXPLAIN STREAM TABLE name | query",
    "AUDIT": "AUDIT STREAM TABLE name",
    "OPTIMIZE": "OPTIMIZE STREAM TABLE name",
    "SUBSCRIBE": "SUBSCRIBE name\n"
    "    [AS OF VERSION version | AS OF TIMESTAMP 'moment' | AFTER LSN lsn | WITH SNAPSHOT]\n"
    "    [WHERE condition]",
}
"""The grammar of every statement of ours, by its verb; errors and the SQL reference both print it."""

_OURS = [
    (("CREATE", "STREAM"), "CREATE"),
    (("CREATE", "OR", "REPLACE", "STREAM"), "CREATE"),
    (("ALTER", "STREAM"), "ALTER"),
    (("DROP", "STREAM"), "DROP"),
    (("SHOW", "STREAM"), "SHOW"),
    (("AUDIT",), "AUDIT"),
    # REFRESH, OPTIMIZE and DESCRIBE HISTORY are Spark's too, and may name a table called `stream`.
    (("OPTIMIZE", "STREAM", "TABLE"), "OPTIMIZE"),
    (("REFRESH", "STREAM", "TABLE"), "REFRESH"),
    (("DESCRIBE", "HISTORY", "STREAM", "TABLE"), "DESCRIBE"),
    (("DESC", "HISTORY", "STREAM", "TABLE"), "DESCRIBE"),
    (("EXPLAIN", "STREAM", "TABLE"), "EXPLAIN"),
    (("SUBSCRIBE",), "SUBSCRIBE"),
]
_QUERY_STARTS = {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "("}
_EMIT_TAILS = (("ON", "WATERMARK"), ("AFTER", "WATERMARK"), ("ON", "UPDATE"), ("ON", "WINDOW", "CLOSE"), ("CHANGES",),
               ("FINAL",))  # fmt: skip


def parse(text: str) -> list[Statement]:
    """The statements of a script, in order; what does not end by itself can only be the last."""
    try:
        tokens = read_tokens(text)
    except Unreadable as unreadable:
        raise InvalidStatement(
            why=unreadable.why, where=lines_at(text, unreadable.offset), expected="complete strings, names and comments"
        ) from None
    parts = list(split_statements(tokens))
    statements = [_statement(text, part) for part in parts]
    for statement, following in zip(statements, parts[1:], strict=False):
        if isinstance(statement, Subscribe):
            _Cursor(text, following, "SUBSCRIBE").fail(
                "nothing can follow SUBSCRIBE, which goes on until it is stopped"
            )
    return statements


def parse_one(text: str) -> Statement:
    """The only statement of `text`; none or several are refused."""
    statements = parse(text)
    if len(statements) != 1:
        found = f"{len(statements)} statements" if statements else "no statement"
        raise InvalidStatement(why=f"there is {found} in it", where="", expected="exactly one statement")
    return statements[0]


def _statement(text: str, tokens: list[Token]) -> Statement:
    words = tuple(word(token) for token in tokens[:4])
    for leading, verb in _OURS:
        if words[: len(leading)] == leading:
            return _READERS[verb](_Cursor(text, tokens, verb))
    return classify(text[tokens[0].start : tokens[-1].end + 1], tokens)


class _Cursor(TokenCursor):
    """A position in the tokens of one statement."""

    def __init__(self, text: str, tokens: Sequence[Token], verb: str) -> None:
        super().__init__(text, tokens)
        self.verb = verb

    def fail(self, why: str, token: Token | None = None) -> NoReturn:
        last = self.tokens[-1]
        found = token or self.token
        offset = found.start if found else last.end + 1
        raise InvalidStatement(why=why, where=lines_at(self.text, offset), expected=GRAMMAR[self.verb])

    def fail_here(self, wanted: str) -> NoReturn:
        if self.token is None:
            self.fail(f"it ends where {wanted} should follow")
        found = self.text[self.token.start : self.token.end + 1]
        glued = self.at > 0 and self.tokens[self.at - 1].end + 1 == self.token.start and not is_word(self.token)
        advice = "; put names with such characters in backticks" if glued and found in {"-", "/", ":", "$", "@"} else ""
        self.fail(f"expected {wanted}, found {_short(found)}{advice}")

    def name(self, what: str = "a stream table name") -> str:
        start = self.token
        if start is None or self.word == "AS" or not (is_word(start) or start.token_type is TokenType.IDENTIFIER):
            self.fail_here(what)
        name, self.at = read_name(self.tokens, self.at)
        if name is None:
            self.fail("the name is not complete", start)
        TableName.parse(name)
        return name

    def string(self, what: str) -> str:
        if self.token is None or self.token.token_type not in {TokenType.STRING, TokenType.RAW_STRING}:
            self.fail_here(what)
        value = self.token.text
        self.at += 1
        return value

    def number(self, what: str) -> int:
        token = self.token
        if token is None or token.token_type is not TokenType.NUMBER or not re.fullmatch(r"[0-9]{1,18}", token.text):
            self.fail_here(what)
        self.at += 1
        return int(token.text)

    def query(self) -> str:
        """The rest of the statement, from just behind the last token read, so that leading comments stay."""
        first = self.token
        if first is None:
            self.fail_here("a query")
        rest = self.tokens[self.at :]
        for token, tail in ((rest[at], rest[at + 1 :]) for at in range(len(rest))):
            if word(token) == "EMIT" and _is_emit(tail):
                _unavailable(self, token, "EMIT", "the statement without its EMIT clause")
        start = self.tokens[self.at - 1].end + 1
        # A comment behind the last token is left out: the query must stay one when it is put in parentheses.
        query = self.text[start : self.tokens[-1].end + 1].strip()
        self.at = len(self.tokens)
        refuse_other_than_query(self.text, rest)
        return query

    def end(self) -> None:
        if self.token:
            self.fail_here("the end of the statement")


def _is_emit(tail: Sequence[Token]) -> bool:
    # `emit` may also be an alias, so only a clause that ends the statement counts.
    words = tuple(word(token) for token in tail)
    return words in _EMIT_TAILS or (words[:1] == ("EVERY",) and len(words) > 1)


def _unavailable(cursor: _Cursor, token: Token, what: str, expected: str) -> NoReturn:
    raise InvalidStatement(
        why=f"{what} is not available in this version", where=lines_at(cursor.text, token.start), expected=expected
    )


def _short(found: str) -> str:
    return repr(found if len(found) <= 40 else found[:39] + "…")


def _lag(cursor: _Cursor) -> str | None:
    """A lag as text, or None for DOWNSTREAM; TARGET LAG itself has been read."""
    if cursor.accept("DOWNSTREAM"):
        return None
    return cursor.string("a quoted duration such as '5 minutes', or DOWNSTREAM")


def _mode(cursor: _Cursor) -> RefreshMode:
    if cursor.word not in {"AUTO", "INCREMENTAL", "FULL"}:
        cursor.fail_here("AUTO, INCREMENTAL or FULL")
    mode = cursor.word
    cursor.at += 1
    return cast(RefreshMode, mode)


def _key(cursor: _Cursor) -> tuple[str, ...]:
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


def _create(cursor: _Cursor) -> Statement:
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    cursor.expect("STREAM", "TABLE")
    if_not_exists = False
    if cursor.word == "IF":
        if or_replace:
            cursor.fail("OR REPLACE and IF NOT EXISTS exclude each other")
        cursor.expect("IF", "NOT", "EXISTS")
        if_not_exists = True
    name = cursor.name()
    lag: str | None = None
    downstream = False
    mode: RefreshMode = "AUTO"
    initialize = True
    key: tuple[str, ...] = ()
    seen: set[str] = set()
    while not cursor.accept("AS"):
        clause = cursor.token
        if cursor.accept("TARGET"):
            cursor.expect("LAG")
            lag = _lag(cursor)
            downstream = lag is None
            said = "TARGET LAG"
        elif cursor.accept("DOWNSTREAM"):
            downstream = True
            said = "TARGET LAG"
        elif cursor.accept("REFRESH"):
            cursor.expect("MODE")
            mode = _mode(cursor)
            said = "REFRESH MODE"
        elif cursor.accept("INITIALIZE"):
            cursor.expect("ON")
            if cursor.word not in {"CREATE", "SCHEDULE"}:
                cursor.fail_here("CREATE or SCHEDULE")
            initialize = cursor.accept("CREATE") or not cursor.accept("SCHEDULE")
            said = "INITIALIZE"
        elif cursor.accept("KEY"):
            key = _key(cursor)
            said = "KEY"
        elif cursor.word == "EMIT" and clause:
            _unavailable(cursor, clause, "EMIT", "the statement without its EMIT clause")
        elif cursor.word in _QUERY_STARTS:
            cursor.fail_here("AS before the query")
        else:
            cursor.fail_here("a clause or AS")
        if said in seen:
            cursor.fail(f"{said} is given twice", clause)
        seen.add(said)
    query = cursor.query()
    return CreateStreamTable(name, query, lag, downstream, mode, initialize, key, or_replace, if_not_exists)


def _alter(cursor: _Cursor) -> Statement:
    cursor.expect("ALTER", "STREAM", "TABLE")
    name = cursor.name()
    altered = AlterStreamTable(name)
    if cursor.accept("AS"):
        return AlterStreamTable(name, as_query=cursor.query())
    if cursor.accept("SUSPEND"):
        altered = AlterStreamTable(name, suspend=True)
    elif cursor.accept("RESUME"):
        altered = AlterStreamTable(name, resume=True)
    elif cursor.accept("SET", "TARGET"):
        cursor.expect("LAG")
        lag = _lag(cursor)
        altered = AlterStreamTable(name, set_target_lag=lag, set_downstream=lag is None)
    elif cursor.accept("SET", "DOWNSTREAM"):
        altered = AlterStreamTable(name, set_downstream=True)
    elif cursor.accept("SET", "REFRESH"):
        cursor.expect("MODE")
        altered = AlterStreamTable(name, set_refresh_mode=_mode(cursor))
    elif cursor.accept("SET"):
        cursor.fail_here("TARGET LAG or REFRESH MODE")
    else:
        cursor.fail_here("SET, SUSPEND, RESUME or AS")
    cursor.end()
    return altered


def _drop(cursor: _Cursor) -> Statement:
    cursor.expect("DROP", "STREAM", "TABLE")
    if_exists = cursor.word == "IF"
    if if_exists:
        cursor.expect("IF", "EXISTS")
    name = cursor.name()
    cascade = cursor.accept("CASCADE")
    cursor.end()
    return DropStreamTable(name, if_exists, cascade)


def _refresh(cursor: _Cursor) -> Statement:
    cursor.expect("REFRESH", "STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return RefreshStreamTable(name)


def _show(cursor: _Cursor) -> Statement:
    cursor.expect("SHOW", "STREAM", "TABLES")
    like = cursor.string("a quoted pattern") if cursor.accept("LIKE") else None
    cursor.end()
    return ShowStreamTables(like)


def _describe(cursor: _Cursor) -> Statement:
    cursor.at = 4  # DESCRIBE or DESC, then HISTORY STREAM TABLE: how the statement was recognised
    name = cursor.name()
    limit = cursor.number("a number of rows") if cursor.accept("LIMIT") else None
    cursor.end()
    return DescribeHistory(name, limit)


def _explain(cursor: _Cursor) -> Statement:
    cursor.expect("EXPLAIN", "STREAM", "TABLE")
    if cursor.word in _QUERY_STARTS:
        return ExplainStreamTable(query=cursor.query())
    name = cursor.name("a stream table name or a query")
    cursor.end()
    return ExplainStreamTable(name=name)


def _audit(cursor: _Cursor) -> Statement:
    cursor.expect("AUDIT", "STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return AuditStreamTable(name)


def _optimize(cursor: _Cursor) -> Statement:
    cursor.expect("OPTIMIZE", "STREAM", "TABLE")
    name = cursor.name()
    cursor.end()
    return OptimizeStreamTable(name)


def _subscribe(cursor: _Cursor) -> Statement:
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


def _starts(cursor: _Cursor) -> bool:
    return cursor.word in {"AS", "AFTER", "WITH"}


def _start(cursor: _Cursor, subscribed: Subscribe) -> Subscribe:
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


def _condition(cursor: _Cursor) -> str:
    """The rest of the statement as a condition, checked and then kept as it was written."""
    rest = cursor.tokens[cursor.at :]
    if not rest:
        cursor.fail_here("a condition")
    for token, following in pairwise(rest):
        if (word(token), word(following)) in {("AS", "OF"), ("AFTER", "LSN"), ("WITH", "SNAPSHOT")}:
            cursor.fail(f"{word(token)} {word(following)} must stand before WHERE", token)
    read_predicate(cursor.text, rest)
    return cursor.text[rest[0].start : rest[-1].end + 1]


_READERS: dict[str, Callable[[_Cursor], Statement]] = {
    "CREATE": _create,
    "ALTER": _alter,
    "DROP": _drop,
    "REFRESH": _refresh,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "EXPLAIN": _explain,
    "AUDIT": _audit,
    "OPTIMIZE": _optimize,
    "SUBSCRIBE": _subscribe,
}
