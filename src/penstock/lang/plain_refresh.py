"""Spark's REFRESH, as far as it has to be understood: which table.

REFRESH [TABLE] name. A path and `REFRESH FUNCTION` are Spark's alone.
"""

from __future__ import annotations

from penstock.lang.classify import read_name
from penstock.lang.statements import PassThrough
from penstock.lang.tokens import read_tokens, word


def plainly_refreshed(statement: PassThrough) -> str | None:
    """The name that a statement refreshes, as it was written; None if it refreshes no name.

    >>> plainly_refreshed(PassThrough("REFRESH shop.sales", "other", verb="REFRESH"))
    'shop.sales'
    >>> plainly_refreshed(PassThrough("REFRESH FUNCTION f", "other", verb="REFRESH"))
    """
    if statement.verb != "REFRESH":
        return None
    tokens = read_tokens(statement.sql)
    at = 2 if len(tokens) > 2 and word(tokens[1]) == "TABLE" else 1
    name, end = read_name(tokens, at)
    return name if end == len(tokens) else None
