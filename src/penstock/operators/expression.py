"""A bound expression: Spark's own text with its column references cut out.

The text is never parsed again on our side. Only the holes are filled, each with the name that the column carries where
the expression is used, so that what Spark analysed is what Spark runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from penstock.names import quote


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column of one relation, distinct from every other column of the query."""

    id: int
    name: str
    type: str
    nullable: bool
    written: str = field(default="", compare=False)
    """The user's words for it and their place, where a refusal would need them."""

    @property
    def column(self) -> str:
        """The column's name inside generated SQL: readable, and unique in the query."""
        slug = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in self.name.lower())
        return f"{slug[:40]}_{self.id}"

    @property
    def sql(self) -> str:
        """`column`, quoted."""
        return quote(self.column)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a condition amounts to if it compares its only column with constants of that type, or asks if it is NULL.

    Dates and timestamps are days and microseconds since 1970.
    """

    operator: str
    """One of = <> < <= > >= IN, IS NULL, IS NOT NULL."""
    values: tuple[bool | int | Decimal | str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """SQL text in pieces: strings, and attribute ids where a column is read.

    >>> price = Attribute(3, "price", "INT", True)
    >>> Expression(("(", 3, " + 1)"), "INT", True).render({3: price})
    '(`price_3` + 1)'
    """

    parts: tuple[str | int, ...]
    type: str
    nullable: bool
    comparison: Comparison | None = None
    """Known of conditions only."""
    written: str = field(default="", compare=False)
    """The user's words for it and their place, where a refusal would need them."""

    @property
    def reads(self) -> frozenset[int]:
        """Ids of the attributes that the expression reads."""
        return frozenset(part for part in self.parts if isinstance(part, int))

    @property
    def attribute(self) -> int | None:
        """The attribute id if the expression is a bare column."""
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], int) else None

    def named(self, columns: Mapping[int, Attribute]) -> str:
        """The user's words for it if they are known, else the text with the names of its columns."""
        return self.written or self.render_with(lambda held: columns[held].name)

    def render(self, columns: Mapping[int, Attribute]) -> str:
        """The SQL text over the columns of a relation."""
        return self.render_with(lambda held: columns[held].sql)

    def render_with(self, column: Callable[[int], str]) -> str:
        """The SQL text with each hole filled by `column`."""
        return "".join(part if isinstance(part, str) else column(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate function call: its whole text, and what a fold needs to know of it."""

    function: str
    call: Expression
    arguments: tuple[Expression, ...]
    distinct: bool
    condition: Expression | None

    @property
    def reads(self) -> frozenset[int]:
        """Ids of the attributes that the call reads."""
        return self.call.reads


def columns_read(*expressions: Expression | AggregateCall) -> frozenset[int]:
    """Ids of the attributes that any of them reads."""
    return frozenset(held for each in expressions for held in each.reads)
