"""A position in the tokens of one statement of ours. What does not fit is refused with the place and the grammar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from penstock.errors import InvalidStatement
from penstock.lang.check_query import refuse_other_than_query
from penstock.lang.classify import read_name
from penstock.lang.spelling import is_near
from penstock.lang.token_cursor import TokenCursor
from penstock.lang.tokens import Token, TokenType, is_word, lines_at, word
from penstock.names import TableName

_EMIT_TAILS = (("ON", "WATERMARK"), ("AFTER", "WATERMARK"), ("ON", "UPDATE"), ("ON", "WINDOW", "CLOSE"), ("CHANGES",),
               ("FINAL",))  # fmt: skip
_QUOTED = "put names with such characters in backticks"
_KEYWORDS = re.compile(r"\b[A-Z]{2,}(?: [A-Z]{2,})*\b")


class StatementCursor(TokenCursor):
    """A position in the tokens of one statement."""

    def __init__(self, text: str, tokens: Sequence[Token], grammar: str) -> None:
        super().__init__(text, tokens)
        self.grammar = grammar
        self._behind_name = -1

    def fail(self, why: str, token: Token | None = None) -> NoReturn:
        """Refuse the statement at a token, or at the position."""
        last = self.tokens[-1]
        found = token or self.token
        offset = found.start if found else last.end + 1
        raise InvalidStatement(why=why, where=lines_at(self.text, offset), expected=self.grammar)

    def fail_here(self, wanted: str) -> NoReturn:
        if self.token is None:
            self.fail(f"it ends where {wanted} should follow")
        found = self.text[self.token.start : self.token.end + 1]
        glued = self.at > 0 and self.tokens[self.at - 1].end + 1 == self.token.start and not is_word(self.token)
        advice = ""
        if glued and found in {"-", "/", ":", "$", "@"}:
            # In backticks Spark takes such a name for a column, but not for a table.
            named = self.at == self._behind_name
            advice = f"; {'names of stream tables have only letters, digits and _' if named else _QUOTED}"
        if is_word(self.token) and (meant := _meant(found, wanted)):
            advice = f"; did you mean {meant}?"
        self.fail(f"expected {wanted}, found {_short(found)}{advice}")

    def name(self, what: str = "a stream table name") -> str:
        """A name, as it was written."""
        start = self.token
        if start is None or self.word == "AS" or not (is_word(start) or start.token_type is TokenType.IDENTIFIER):
            self.fail_here(what)
        name, self.at = read_name(self.tokens, self.at)
        self._behind_name = self.at
        if name is None:
            self.fail("the name is not complete", start)
        TableName.parse(name)
        return name

    def string(self, what: str) -> str:
        """The value of a quoted string."""
        if self.token is None or self.token.token_type not in {TokenType.STRING, TokenType.RAW_STRING}:
            self.fail_here(what)
        value = self.token.text
        self.at += 1
        return value

    def number(self, what: str) -> int:
        """A whole number."""
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
                self.refuse_emit(token)
        start = self.tokens[self.at - 1].end + 1
        # A comment behind the last token is left out: the query must stay one when it is put in parentheses.
        query = self.text[start : self.tokens[-1].end + 1].strip()
        self.at = len(self.tokens)
        refuse_other_than_query(self.text, rest)
        return query

    def refuse_emit(self, token: Token) -> NoReturn:
        """Refuse EMIT by its name: the clause is known and does not exist yet."""
        raise InvalidStatement(
            why="EMIT is not available in this version",
            where=lines_at(self.text, token.start),
            expected="the statement without its EMIT clause",
        )

    def end(self) -> None:
        """Refuse whatever is left."""
        if self.token:
            self.fail_here("the end of the statement")


def _is_emit(tail: Sequence[Token]) -> bool:
    # `emit` may also be an alias, so only a clause that ends the statement counts.
    words = tuple(word(token) for token in tail)
    return words in _EMIT_TAILS or (words[:1] == ("EVERY",) and len(words) > 1)


def _meant(found: str, wanted: str) -> str | None:
    """The keyword in `wanted` that a misspelt word most likely stands for."""
    said = found.upper().replace("_", " ")
    for keyword in _KEYWORDS.findall(wanted):
        if any(is_near(said, spelled) for spelled in (keyword, *keyword.split())):
            return str(keyword)
    return None


def _short(found: str) -> str:
    return repr(found if len(found) <= 40 else found[:39] + "…")
