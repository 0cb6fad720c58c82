"""A script is statements between semicolons.

Semicolons inside strings, comments and backticks do not count: they are not tokens. A `BEGIN … END` script is one
statement, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lang.tokens import Token, TokenType, Unreadable, read_tokens, word

_BLOCK_ENDS = {"IF", "LOOP", "WHILE", "REPEAT", "FOR"}


def split_statements(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens of each statement, without semicolons; empty statements are dropped."""
    statements: list[list[Token]] = []
    current: list[Token] = []
    depth = 0
    for at, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON and depth == 0:
            statements.append(current)
            current = []
            continue
        if opens_script(current, token):
            depth = 1
        elif depth and not _is_name(current):
            following = word(tokens[at + 1]) if at + 1 < len(tokens) else ""
            if word(token) in {"BEGIN", "CASE"} and not (word(token) == "CASE" and _closes(current)):
                depth += 1
            elif word(token) == "END" and following not in _BLOCK_ENDS:
                depth -= 1
        current.append(token)
    statements.append(current)
    return [statement for statement in statements if statement]


def split_script(text: str) -> tuple[list[str], str]:
    """The statements of `text` that a semicolon ends, and what stands behind the last of them.

    >>> split_script("SELECT 1; SELECT ';'; SELECT")
    (['SELECT 1', "SELECT ';'"], 'SELECT')
    """
    try:
        tokens = read_tokens(text)
    except Unreadable:
        return [], text
    statements = split_statements(tokens)
    parts = [text[statement[0].start : statement[-1].end + 1] for statement in statements]
    if not parts:
        return [], ""
    ended = statements[-1][-1] is not tokens[-1]
    return (parts, "") if ended else (parts[:-1], parts[-1])


def opens_script(before: Sequence[Token], token: Token) -> bool:
    """True if `token` is the BEGIN of a script: first in its statement, or after a label."""
    labelled = len(before) == 2 and before[1].text == ":"
    return word(token) == "BEGIN" and (not before or labelled)


def _is_name(before: Sequence[Token]) -> bool:
    # `window.end` and `AS end` are columns, not the end of a block.
    return bool(before) and word(before[-1]) in {".", "AS"}


def _closes(before: Sequence[Token]) -> bool:
    return bool(before) and word(before[-1]) == "END"
