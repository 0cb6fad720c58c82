"""A condition on one row, from SQL text to the tree of `changes.predicate`.

Spark's own grammar and precedence, for the part of it that can be decided row by row in the same way everywhere:

    condition  :=  NOT condition | condition AND condition | condition OR condition | value [test]
    test       :=  [NOT] BETWEEN value AND value | [NOT] IN (value, …) | [NOT] LIKE 'pattern' [ESCAPE 'c']
                |  IS [NOT] NULL | IS [NOT] TRUE | IS [NOT] FALSE | IS [NOT] DISTINCT FROM value
    value      :=  operand | value (= | == | <> | != | < | <= | > | >= | <=>) operand
    operand    :=  column | literal | CAST(literal AS type) | literal::type | (condition)

Whatever else is written is refused with its place, never skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn, cast

import pyarrow as pa

from penstock.changes.filter.predicate import (
    And,
    Column,
    Compare,
    Constant,
    InList,
    IsNull,
    IsTruth,
    Like,
    LocalTimestamp,
    Not,
    Operator,
    Or,
    Predicate,
)
from penstock.errors import InvalidFilter
from penstock.lang.literals import NUMBER, LiteralRefused, cast_literal, read_number, read_string, type_named
from penstock.lang.token_cursor import TokenCursor
from penstock.lang.tokens import Token, TokenType, Unreadable, is_word, lines_at, read_tokens, word

_ALLOWED = (
    "Write conditions over columns and literals with AND, OR, NOT, =, <>, <, <=, >, >=, <=>, BETWEEN, IN, LIKE, "
    "IS [NOT] NULL, TRUE, FALSE or DISTINCT FROM."
)
_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_RESERVED = {"AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ESCAPE", "FROM"}
_TYPED = {"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"}
_MAX_DEPTH = 64


def parse_predicate(text: str) -> Predicate:
    """The condition that `text` is, or InvalidFilter.

    >>> parse_predicate("region = 'north' AND amount IS NOT NULL").parts[1]
    Not(operand=IsNull(operand=Column(name='amount')))
    """
    try:
        tokens = read_tokens(text)
    except Unreadable as unreadable:
        where = lines_at(text, unreadable.offset)
        raise InvalidFilter(why=f"invalid filter expression: {unreadable.why}{where}", fix=_ALLOWED) from None
    return read_predicate(text, tokens)


def read_predicate(text: str, tokens: Sequence[Token]) -> Predicate:
    """The condition that `tokens`, a part of `text`, spell from the first to the last."""
    reader = _Reader(text, tokens)
    predicate = reader.condition()
    if reader.token:
        reader.fail_here("AND, OR or the end")
    return predicate


class _Reader(TokenCursor):
    """A position in the tokens of one condition."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        super().__init__(text, tokens)
        self.depth = 0

    def fail(self, why: str, token: Token | None = None) -> NoReturn:
        found = token or self.token
        offset = found.start if found else self.tokens[-1].end + 1 if self.tokens else 0
        raise InvalidFilter(why=f"invalid filter expression: {why}{lines_at(self.text, offset)}", fix=_ALLOWED)

    def fail_here(self, wanted: str) -> NoReturn:
        if self.token is None:
            self.fail(f"it ends where {wanted} should follow")
        found = self.slice(self.token)
        self.fail(f"expected {wanted}, found {found if len(found) <= 40 else found[:39] + '…'!r}")

    def slice(self, token: Token) -> str:
        return self.text[token.start : token.end + 1]

    def condition(self) -> Predicate:
        parts = [self.conjunction()]
        while self.accept("OR"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def conjunction(self) -> Predicate:
        parts = [self.negation()]
        while self.accept("AND"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def negation(self) -> Predicate:
        count = 0
        while self.accept("NOT"):
            count += 1
        tested = self.tested()
        # Two are kept, not none: NOT makes a condition of its operand.
        for _ in range(count if count < 2 else 2 - count % 2):
            tested = Not(tested)
        return tested

    def deeper(self) -> None:
        # Everything that reads the tree recurses; the limit keeps hostile text from exhausting the stack.
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(f"it is nested more than {_MAX_DEPTH} levels deep")

    def tested(self) -> Predicate:
        value = self.value()
        if self.accept("IS"):
            negated = self.accept("NOT")
            return _negated(self.state(value), negated)
        negated = self.accept("NOT")
        if self.accept("BETWEEN"):
            low = self.value()
            self.expect("AND")
            high = self.value()
            return _negated(And((Compare(">=", value, low), Compare("<=", value, high))), negated)
        if self.accept("IN"):
            return _negated(InList(value, self.options()), negated)
        if self.accept("LIKE"):
            return _negated(self.like(value), negated)
        if negated:
            self.fail_here("BETWEEN, IN or LIKE")
        return value

    def state(self, value: Predicate) -> Predicate:
        if self.accept("NULL"):
            return IsNull(value)
        if self.accept("TRUE"):
            return IsTruth(value, True)
        if self.accept("FALSE"):
            return IsTruth(value, False)
        if self.accept("DISTINCT"):
            self.expect("FROM")
            return Not(Compare("<=>", value, self.value()))
        self.fail_here("NULL, TRUE, FALSE or DISTINCT FROM")

    def options(self) -> tuple[Predicate, ...]:
        self.expect("(")
        options = [self.condition()]
        while self.accept(","):
            options.append(self.condition())
        if not self.accept(")"):
            self.fail_here("',' or ')'")
        return tuple(options)

    def like(self, value: Predicate) -> Predicate:
        pattern = self.string("a quoted pattern")
        if not self.accept("ESCAPE"):
            return Like(value, pattern)
        token = self.token
        escape = self.string("a quoted character")
        if len(escape) != 1:
            self.fail("ESCAPE takes one character", token)
        return Like(value, pattern, escape)

    def value(self) -> Predicate:
        left = self.operand()
        depth = self.depth
        while self.word in _COMPARISONS:
            self.deeper()
            operator = cast(Operator, _COMPARISONS[self.word])
            self.at += 1
            left = Compare(operator, left, self.operand())
        self.depth = depth
        return left

    def operand(self) -> Predicate:
        token = self.token
        if token is None:
            self.fail_here("a column or a literal")
        if self.accept("("):
            depth = self.depth
            self.deeper()
            inner = self.condition()
            if not self.accept(")"):
                self.fail_here("')'")
            self.depth = depth
            return inner
        literal = self.literal()
        if literal is None:
            return self.column()
        while self.accept("::"):
            literal = self.cast(literal, token)
        return literal

    def literal(self) -> Constant | LocalTimestamp | None:
        """The literal that stands here, or None where none does."""
        token = self.token
        assert token is not None
        following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        if self.word in {"-", "+"}:
            self.at += 1
            return self.number(negative=word(token) == "-")
        if token.token_type in {TokenType.NUMBER, TokenType.DOT}:
            return self.number()
        if _is_string(token):
            return Constant(pa.scalar(self.string("a string")))
        if self.accept("NULL"):
            return Constant(pa.scalar(None))
        if self.word in {"TRUE", "FALSE"}:
            self.at += 1
            return Constant(pa.scalar(word(token) == "TRUE"))
        if is_word(token) and following and _is_string(following):
            if self.word not in _TYPED:
                self.fail(f"literals are not written with {self.slice(token)}; use DATE, TIMESTAMP or CAST")
            self.at += 1
            text = Constant(pa.scalar(self.string("a string")))
            return self.converted(text, word(token), (), token)
        if self.word == "CAST" and following and word(following) == "(":
            self.at += 2
            self.deeper()
            inner = self.literal() if self.token else None
            if inner is None:
                self.fail_here("a literal")
            self.depth -= 1
            self.expect("AS")
            made = self.cast(inner, token)
            self.expect(")")
            return made
        return None

    def number(self, negative: bool = False) -> Constant:
        token = self.token
        found = NUMBER.match(self.text, token.start) if token else None
        if token is None or found is None:
            self.fail_here("a number")
        # The tokens of `1.5BD` and `.5` are several; the spelling in the text is one.
        while self.token and self.token.start < found.end():
            self.at += 1
        try:
            return read_number(found[0], negative)
        except LiteralRefused as refused:
            self.fail(str(refused), token)

    def string(self, what: str) -> str:
        first = self.token
        if first is None or not _is_string(first):
            self.fail_here(what)
        end = first
        self.at += 1
        # 'it''s' is one literal to Spark, and two tokens.
        while self.token and self.token.start == end.end + 1 and self.slice(self.token)[0] == self.slice(first)[0]:
            end = self.token
            self.at += 1
        if self.token and _is_string(self.token):
            self.fail("two strings follow each other")
        try:
            return read_string(self.text[first.start : end.end + 1])
        except LiteralRefused as refused:
            self.fail(str(refused), first)

    def cast(self, literal: Constant | LocalTimestamp, token: Token) -> Constant | LocalTimestamp:
        if self.token is None or not is_word(self.token):
            self.fail_here("a type")
        name = self.word
        self.at += 1
        sizes: list[int] = []
        if self.accept("("):
            while True:
                if self.token is None or not re.fullmatch(r"[0-9]{1,3}", self.slice(self.token)):
                    self.fail_here("a number of digits")
                sizes.append(int(self.slice(self.token)))
                self.at += 1
                if self.accept(")"):
                    break
                self.expect(",")
        return self.converted(literal, name, tuple(sizes), token)

    def converted(
        self, literal: Constant | LocalTimestamp, name: str, sizes: tuple[int, ...], token: Token
    ) -> Constant | LocalTimestamp:
        try:
            return cast_literal(literal, type_named(name, sizes))
        except LiteralRefused as refused:
            self.fail(str(refused), token)

    def column(self) -> Column:
        token = self.token
        assert token is not None
        if token.token_type is TokenType.IDENTIFIER:
            name = token.text
        elif re.fullmatch(r"\w+", self.slice(token)) and is_word(token) and word(token) not in _RESERVED:
            name = self.slice(token)
        else:
            self.fail_here("a column or a literal")
        self.at += 1
        if self.word == "(":
            self.fail(f"functions such as {name} cannot be used", token)
        if self.word in {".", "[", ":"}:
            self.fail("qualified names and parts of columns cannot be used", token)
        return Column(name)


def _is_string(token: Token) -> bool:
    return token.token_type in {TokenType.STRING, TokenType.RAW_STRING}


def _negated(predicate: Predicate, negated: bool) -> Predicate:
    return Not(predicate) if negated else predicate
