"""Tokens with positions, and how an error points at a position in the text.

Only the token boundaries are used; text is always sliced from the source, so nothing is ever written back differently.
"""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

__all__ = ["Token", "TokenType", "Unreadable", "is_word", "lines_at", "read_tokens", "word"]

_WIDTH = 92
_MISSING = re.compile(r"Missing (\S+) from \d+:(\d+)")
_NOT_WORDS = {TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.IDENTIFIER, TokenType.NUMBER}
_CONTINUED_COMMENT = re.compile(r"--[^\n]*\\\r?\n")


class _SparkTokenizer(Spark.Tokenizer):
    # sqlglot swallows what follows SHOW, EXECUTE and the like as one string, which would hide our own statements.
    COMMANDS: ClassVar[set[TokenType]] = set()
    # Spark reads $$ … $$ as a string, semicolons included.
    HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = ["$"]
    HEREDOC_TAG_IS_IDENTIFIER = True


class Unreadable(Exception):
    """The text has no tokens: something is opened and never closed."""

    def __init__(self, why: str, offset: int) -> None:
        super().__init__(why)
        self.why = why
        self.offset = offset


def read_tokens(text: str) -> list[Token]:
    """The tokens of `text`; `token.start` and `token.end` (inclusive) are offsets into it."""
    try:
        tokens = _SparkTokenizer(dialect="spark").tokenize(text)
    except TokenError as error:
        found = _MISSING.search(f"{error} {error.__cause__}")
        if found:
            raise Unreadable(f"the {found[1]} opened here is never closed", int(found[2])) from None
        raise Unreadable("it cannot be split into words", 0) from None
    _refuse_continued_comments(text, tokens)
    return tokens


def _refuse_continued_comments(text: str, tokens: list[Token]) -> None:
    # To Spark `-- … \` continues on the next line, to sqlglot it ends there: text that Spark skips would be run.
    covered = 0
    for start, end in [*((token.start, token.end + 1) for token in tokens), (len(text), len(text))]:
        found = _CONTINUED_COMMENT.search(text, covered, start)
        if found and text.rfind("/*", covered, found.start()) <= text.rfind("*/", covered, found.start()):
            raise Unreadable("a comment line may not end with a backslash", found.end() - 2)
        covered = end


def is_word(token: Token) -> bool:
    """True for keywords and plain identifiers, false for anything quoted, numbers and punctuation."""
    return token.token_type not in _NOT_WORDS and bool(re.match(r"\w", token.text))


def word(token: Token) -> str:
    """The token in upper case if it is a word, else what it looks like; quoted text never equals a keyword."""
    if token.token_type in _NOT_WORDS:
        return ""
    return token.text.split()[0].upper() if is_word(token) else token.text


def lines_at(text: str, offset: int) -> str:
    """Line, column and the line itself with a caret under `offset`.

    >>> print(lines_at("DROP STREAM x", 12))
     (line 1, column 13)
    <BLANKLINE>
        DROP STREAM x
                    ^
    """
    line = text.count("\n", 0, offset) + 1
    begin = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    shown = text[begin : end if end >= 0 else len(text)].rstrip("\r").replace("\t", " ")
    column = offset - begin
    cut = max(0, min(column - _WIDTH // 2, len(shown) - _WIDTH))
    window = shown[cut : cut + _WIDTH]
    before = ("…" if cut else "") + window[: column - cut]
    fragment = ("…" if cut else "") + window + ("…" if cut + _WIDTH < len(shown) else "")
    return f" (line {line}, column {column + 1})\n\n    {fragment}\n    {' ' * _columns(before)}^"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
