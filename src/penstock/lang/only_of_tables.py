"""What Spark answers of tables alone, and not of the view that a stream table's name is: older versions, details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.lang.classify import read_name
from penstock.lang.tokens import Token, TokenType, Unreadable, read_tokens, word

_VERSIONS = {"VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME"}
_NO_ALIAS = {"SORT", "DISTRIBUTE", "CLUSTER", "GROUP", "ORDER"}
_LITERALS = {TokenType.NUMBER, TokenType.STRING}


@dataclass(frozen=True, slots=True)
class OnlyOfTables:
    """A name, and what was asked of it: `VERSION AS OF 3`, `table_changes`, `DESCRIBE HISTORY` or `DESCRIBE DETAIL`."""

    name: str
    asked: str
    has_alias: bool = False
    """The rows of the version have a name of their own already."""


def only_of_tables(sql: str) -> list[OnlyOfTables]:
    """What a statement asks of names that are not those of files.

    >>> only_of_tables("SELECT * FROM shop.sales VERSION AS OF 3 s WHERE a = 1")
    [OnlyOfTables(name='shop.sales', asked='VERSION AS OF 3', has_alias=True)]
    >>> only_of_tables("DESC HISTORY sales"), only_of_tables("DESCRIBE sales")
    ([OnlyOfTables(name='sales', asked='DESCRIBE HISTORY', has_alias=False)], [])
    """
    try:
        tokens = read_tokens(sql)
    except Unreadable:
        # Spark says so better.
        return []
    versioned = [_versioned(sql, tokens, at) for at in range(len(tokens)) if _is_version(tokens, at)]
    changes = [
        OnlyOfTables(tokens[at + 2].text, "table_changes") for at in range(len(tokens)) if _asks_changes(tokens, at)
    ]
    return _described(tokens) + changes + [each for each in versioned if each is not None]


def _described(tokens: Sequence[Token]) -> list[OnlyOfTables]:
    words = [word(token) for token in tokens[:2]]
    if len(words) < 2 or words[0] not in {"DESCRIBE", "DESC"} or words[1] not in {"HISTORY", "DETAIL"}:
        return []
    name, _ = read_name(tokens, 3 if len(tokens) > 3 and word(tokens[2]) == "TABLE" else 2)
    return [OnlyOfTables(name, f"DESCRIBE {words[1]}")] if name else []


def _asks_changes(tokens: Sequence[Token], at: int) -> bool:
    kinds = [token.token_type for token in tokens[at + 1 : at + 3]]
    return word(tokens[at]) == "TABLE_CHANGES" and kinds == [TokenType.L_PAREN, TokenType.STRING]


def _is_version(tokens: Sequence[Token], at: int) -> bool:
    ahead = [word(token) for token in tokens[at : at + 3]]
    return at > 0 and len(ahead) == 3 and ahead[0] in _VERSIONS and ahead[1:] == ["AS", "OF"]


def _versioned(sql: str, tokens: Sequence[Token], at: int) -> OnlyOfTables | None:
    """The name before a version; where the version is more than a literal, its beginning is enough."""
    end = at - 2 if word(tokens[at - 1]) == "FOR" else at - 1
    begin = end
    while begin >= 2 and tokens[begin - 1].token_type is TokenType.DOT:
        begin -= 2
    name, _ = read_name(tokens, begin)
    if name is None:
        return None
    last = at + 3 if len(tokens) > at + 3 and tokens[at + 3].token_type in _LITERALS else at + 2
    asked = sql[tokens[at].start : tokens[last].end + 1]
    if last == at + 2:
        return OnlyOfTables(name, f"{asked} …")
    return OnlyOfTables(name, asked, last + 1 < len(tokens) and _is_alias(tokens[last + 1]))


def _is_alias(token: Token) -> bool:
    named = token.token_type in {TokenType.VAR, TokenType.IDENTIFIER} and word(token) not in _NO_ALIAS
    return named or word(token) == "AS"
