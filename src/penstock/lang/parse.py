"""Text → statements.

The leading words say whether a statement is Penstock's; every other statement passes through as it was written.
The parser reads Penstock's statements token by token and refuses one that does not fit with the place and the grammar.
Their queries are exact slices of the source, comments included.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import InvalidStatement
from penstock.lang.classify import classify
from penstock.lang.mistaken_statement import refuse_mistaken
from penstock.lang.readers import (
    alter,
    audit,
    create,
    describe,
    describe_history,
    drop,
    explain,
    optimize,
    refresh,
    refresh_all,
    show,
    show_create,
    subscribe,
)
from penstock.lang.split import split_statements
from penstock.lang.statement_cursor import StatementCursor
from penstock.lang.statements import Statement, Subscribe
from penstock.lang.tokens import Token, Unreadable, lines_at, read_tokens, word

GRAMMAR = {
    "CREATE": create.GRAMMAR,
    "ALTER": alter.GRAMMAR,
    "DROP": drop.GRAMMAR,
    "REFRESH": refresh.GRAMMAR,
    "REFRESH ALL": refresh_all.GRAMMAR,
    "SHOW": show.GRAMMAR,
    "SHOW CREATE": show_create.GRAMMAR,
    "DESCRIBE": describe.GRAMMAR,
    "DESCRIBE HISTORY": describe_history.GRAMMAR,
    "EXPLAIN": explain.GRAMMAR,
    "AUDIT": audit.GRAMMAR,
    "OPTIMIZE": optimize.GRAMMAR,
    "SUBSCRIBE": subscribe.GRAMMAR,
}
"""The grammar of every statement of ours, by its first words; errors and the SQL reference both print it."""

_OURS: list[tuple[tuple[str, ...], Callable[[StatementCursor], Statement], str]] = [
    (("CREATE", "STREAM"), create.read, create.GRAMMAR),
    (("CREATE", "OR", "REPLACE", "STREAM"), create.read, create.GRAMMAR),
    (("ALTER", "STREAM"), alter.read, alter.GRAMMAR),
    (("DROP", "STREAM"), drop.read, drop.GRAMMAR),
    (("SHOW", "STREAM"), show.read, show.GRAMMAR),
    (("AUDIT",), audit.read, audit.GRAMMAR),
    (("SHOW", "CREATE", "STREAM"), show_create.read, show_create.GRAMMAR),
    # REFRESH, OPTIMIZE and DESCRIBE are Spark's too, and may name a table called `stream`.
    (("OPTIMIZE", "STREAM", "TABLE"), optimize.read, optimize.GRAMMAR),
    (("REFRESH", "STREAM", "TABLE"), refresh.read, refresh.GRAMMAR),
    (("REFRESH", "STREAM", "TABLES"), refresh_all.read, refresh_all.GRAMMAR),
    (("DESCRIBE", "STREAM", "TABLE"), describe.read, describe.GRAMMAR),
    (("DESC", "STREAM", "TABLE"), describe.read, describe.GRAMMAR),
    (("DESCRIBE", "EXTENDED", "STREAM", "TABLE"), describe.read, describe.GRAMMAR),
    (("DESC", "EXTENDED", "STREAM", "TABLE"), describe.read, describe.GRAMMAR),
    (("DESCRIBE", "HISTORY", "STREAM", "TABLE"), describe_history.read, describe_history.GRAMMAR),
    (("DESC", "HISTORY", "STREAM", "TABLE"), describe_history.read, describe_history.GRAMMAR),
    (("EXPLAIN", "STREAM", "TABLE"), explain.read, explain.GRAMMAR),
    (("EXPLAIN", "EXTENDED", "STREAM", "TABLE"), explain.read, explain.GRAMMAR),
    (("SUBSCRIBE",), subscribe.read, subscribe.GRAMMAR),
]


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
            StatementCursor(text, following, subscribe.GRAMMAR).fail(
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
    for leading, read, grammar in _OURS:
        if words[: len(leading)] == leading:
            return read(StatementCursor(text, tokens, grammar))
    refuse_mistaken(text, tokens)
    return classify(text[tokens[0].start : tokens[-1].end + 1], tokens)
