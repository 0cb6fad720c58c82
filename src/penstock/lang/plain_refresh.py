"""Spark's REFRESH: what it refreshes.

REFRESH TABLE name, or REFRESH with a name or a path, quoted or not. `REFRESH FUNCTION` is Spark's alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.lang.classify import read_name
from penstock.lang.statements import PassThrough
from penstock.lang.tokens import TokenType, read_tokens, word


@dataclass(frozen=True, slots=True)
class PlainRefresh:
    """One REFRESH of Spark's: what it names, as it was written but without quotes of text."""

    what: str
    is_name: bool
    """It can only be a name; else Spark takes it for a path."""


def plain_refresh(statement: PassThrough) -> PlainRefresh | None:
    """What a statement refreshes; None if that is a function, or it is no REFRESH.

    >>> plain_refresh(PassThrough("REFRESH shop.sales", "other", verb="REFRESH"))
    PlainRefresh(what='shop.sales', is_name=True)
    >>> plain_refresh(PassThrough("REFRESH '/data/a b'", "other", verb="REFRESH"))
    PlainRefresh(what='/data/a b', is_name=False)
    >>> plain_refresh(PassThrough("REFRESH FUNCTION f", "other", verb="REFRESH"))
    """
    if statement.verb != "REFRESH":
        return None
    tokens = read_tokens(statement.sql)
    kind = word(tokens[1]) if len(tokens) > 2 else ""
    rest = tokens[2 if kind == "TABLE" else 1 :]
    if not rest or kind == "FUNCTION":
        return None
    name, end = read_name(rest, 0)
    if name is not None and end == len(rest):
        return PlainRefresh(name, True)
    is_text = len(rest) == 1 and rest[0].token_type is TokenType.STRING
    what = rest[0].text if is_text else statement.sql[rest[0].start : rest[-1].end + 1]
    return PlainRefresh(what, False)
