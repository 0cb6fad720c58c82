"""CREATE STREAM TABLE: the query, and how to keep its result fresh."""

from __future__ import annotations

from typing import Final

from penstock.lang.clauses import LAG, MODE, QUERY_STARTS, read_key, read_lag, read_mode
from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import CreateStreamTable, RefreshMode, Statement

GRAMMAR: Final = (
    f"CREATE [OR REPLACE] STREAM TABLE [IF NOT EXISTS] name\n"
    f"    [TARGET LAG {LAG}] [REFRESH MODE {MODE}]\n"
    "    [INITIALIZE ON CREATE | ON SCHEDULE] [KEY (column, …)]\n"
    "    [CASCADE] AS query"
)


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
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
            lag = read_lag(cursor)
            downstream = lag is None
            said = "TARGET LAG"
        elif cursor.accept("DOWNSTREAM"):
            downstream = True
            said = "TARGET LAG"
        elif cursor.accept("REFRESH"):
            cursor.expect("MODE")
            mode = read_mode(cursor)
            said = "REFRESH MODE"
        elif cursor.accept("INITIALIZE"):
            cursor.expect("ON")
            if cursor.word not in {"CREATE", "SCHEDULE"}:
                cursor.fail_here("CREATE or SCHEDULE")
            initialize = cursor.accept("CREATE") or not cursor.accept("SCHEDULE")
            said = "INITIALIZE"
        elif cursor.accept("KEY"):
            key = read_key(cursor)
            said = "KEY"
        elif or_replace and cursor.accept("CASCADE"):
            said = "CASCADE"
        elif cursor.word == "EMIT" and clause:
            cursor.refuse_emit(clause)
        elif cursor.word in QUERY_STARTS:
            cursor.fail_here("AS before the query")
        else:
            cursor.fail_here("TARGET LAG, REFRESH MODE, INITIALIZE, KEY or AS")
        if said in seen:
            cursor.fail(f"{said} is given twice", clause)
        seen.add(said)
    query = cursor.query()
    return CreateStreamTable(
        name, query, lag, downstream, mode, initialize, key, or_replace, if_not_exists, "CASCADE" in seen
    )
