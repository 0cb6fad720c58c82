"""What every operator is: an immutable node that writes its rows at a moment and its delta over the interval.

It also says which columns it needs and for which types and functions its rule is not exact, so that the compiler's
passes need not know the operators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.names import WEIGHT, quote
from penstock.operators.delta_query import DeltaQuery, Moment, Within
from penstock.operators.expression import Attribute, Expression
from penstock.operators.inexact import Inexact
from penstock.operators.source import Source


class Operator(ABC):
    """A node of the operator tree."""

    name: str
    rule: str
    """The delta rule in one line, for explain."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Attribute, ...]:
        """The columns of every relation this operator writes, in order."""

    @property
    @abstractmethod
    def children(self) -> tuple[Operator, ...]:
        """The operators it reads."""

    @abstractmethod
    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        """Write the operator's rows at a moment, a plain bag; rows outside `within` may be left out."""

    @abstractmethod
    def delta(self, query: DeltaQuery) -> str:
        """Write the operator's delta, `columns` and a weight. Only called when something below moved."""

    @abstractmethod
    def detail(self) -> str:
        """Its expressions or its table, for explain."""

    @abstractmethod
    def pruned(self, wanted: frozenset[int]) -> Operator:
        """The same rows with at least the wanted columns, and few others; the inputs are pruned too."""

    def inexact(self, stored: bool) -> Inexact | None:
        """Why the delta rule would not be exact for these types and functions; None if it is.

        `stored` says that the stream table keeps this operator's own rows, so that no old value has to be reproduced.
        """
        return None

    @property
    def sources(self) -> frozenset[Source]:
        """The tables below."""
        return frozenset(source for child in self.children for source in child.sources)

    def nodes(self) -> Iterator[Operator]:
        """This operator and all below it."""
        yield self
        for child in self.children:
            yield from child.nodes()

    @property
    def whole(self) -> bool:
        """True if the delta reads the whole input at both ends, because every result depends on every row."""
        return False

    def moved(self, query: DeltaQuery) -> bool:
        """True if something below changed in the interval."""
        return any(child.moved(query) for child in self.children)

    @property
    def by_id(self) -> Mapping[int, Attribute]:
        """The columns by attribute id."""
        return {attribute.id: attribute for attribute in self.columns}


@dataclass(frozen=True, slots=True)
class KeyRange:
    """`attribute` only matters where its value occurs in a column that an earlier step collected."""

    attribute: int
    step: str
    collected: str

    def on(self, column: str) -> Within:
        """The same restriction on a source's column."""
        return Within(column, self.step, self.collected)


def column_list(columns: Iterable[Attribute], weighted: bool = False, prefix: str = "") -> str:
    """`a, b, c[, weight]`."""
    names = [f"{prefix}{column.sql}" for column in columns]
    return ", ".join([*names, f"{prefix}{quote(WEIGHT)}"] if weighted else names) or "1 AS `__ps_none`"


def select_list(items: Iterable[tuple[str, Attribute]], weighted: bool = False) -> str:
    """`text AS a, …[, weight]`."""
    texts = [text if text == attribute.sql else f"{text} AS {attribute.sql}" for text, attribute in items]
    return ", ".join([*texts, quote(WEIGHT)] if weighted else texts) or "1 AS `__ps_none`"


def follow(ranges: tuple[KeyRange, ...], items: Iterable[tuple[Expression, Attribute]]) -> tuple[KeyRange, ...]:
    """Key ranges on a projection's output as key ranges on its input, where an output is a bare column."""
    origin = {attribute.id: expression.attribute for expression, attribute in items}
    return tuple(
        KeyRange(below, each.step, each.collected)
        for each in ranges
        if (below := origin.get(each.attribute)) is not None
    )
