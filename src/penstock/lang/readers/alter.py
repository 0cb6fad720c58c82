"""ALTER STREAM TABLE: it changes one thing."""

from __future__ import annotations

from typing import Final

from penstock.lang.clauses import LAG, MODE, read_lag, read_mode
from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import AlterStreamTable, Statement

GRAMMAR: Final = (
    f"ALTER STREAM TABLE name\n    SET TARGET LAG {LAG} | SET REFRESH MODE {MODE}\n"
    "    | SUSPEND | RESUME | [CASCADE] AS query"
)


def read(cursor: StatementCursor) -> Statement:
    """The statement."""
    cursor.expect("ALTER", "STREAM", "TABLE")
    name = cursor.name()
    altered = AlterStreamTable(name)
    cascade = cursor.accept("CASCADE")
    if cascade and cursor.word != "AS":
        cursor.fail_here("AS and a query")
    if cursor.accept("AS"):
        return AlterStreamTable(name, as_query=cursor.query(), cascade=cascade)
    if cursor.accept("SUSPEND"):
        altered = AlterStreamTable(name, suspend=True)
    elif cursor.accept("RESUME"):
        altered = AlterStreamTable(name, resume=True)
    elif cursor.accept("SET", "TARGET"):
        cursor.expect("LAG")
        lag = read_lag(cursor)
        altered = AlterStreamTable(name, set_target_lag=lag, set_downstream=lag is None)
    elif cursor.accept("SET", "DOWNSTREAM"):
        altered = AlterStreamTable(name, set_downstream=True)
    elif cursor.accept("SET", "REFRESH"):
        cursor.expect("MODE")
        altered = AlterStreamTable(name, set_refresh_mode=read_mode(cursor))
    elif cursor.accept("SET"):
        cursor.fail_here("TARGET LAG or REFRESH MODE")
    else:
        cursor.fail_here("SET, SUSPEND, RESUME or AS")
    cursor.end()
    return altered
