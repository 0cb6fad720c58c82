"""The bound tree: a query as Spark's analyser understood it, as plain data.

The compiler knows nothing else about a query. Spark has decided on names, types, nullability, implicit casts, views,
CTEs, star expansion and column names. `Analyzer` is the port through which the trees come: the engine implements it on
Spark, tests on recorded trees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from penstock.compile.reasons import link, with_link
from penstock.operators.expression import AggregateCall, Attribute, Expression
from penstock.operators.source import Source
from penstock.operators.window import WindowCall


class BoundNode(ABC):
    """A node of the bound tree."""

    @property
    @abstractmethod
    def children(self) -> tuple[Bound, ...]:
        """The nodes it reads."""

    @property
    @abstractmethod
    def output(self) -> tuple[Attribute, ...]:
        """The columns of its rows."""

    def nodes(self) -> Iterator[BoundNode]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.nodes()


@dataclass(frozen=True, slots=True)
class BoundScan(BoundNode):
    """A table read: the columns Spark resolved, and the name each has in the table."""

    source: Source
    columns: tuple[tuple[str, Attribute], ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return ()

    @property
    def output(self) -> tuple[Attribute, ...]:
        return tuple(attribute for _, attribute in self.columns)


@dataclass(frozen=True, slots=True)
class BoundProject(BoundNode):
    """A select list."""

    child: Bound
    items: tuple[tuple[Expression, Attribute], ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.child,)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return tuple(attribute for _, attribute in self.items)


@dataclass(frozen=True, slots=True)
class BoundFilter(BoundNode):
    """Predicates: rows for which all of them are true stay."""

    child: Bound
    conditions: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.child,)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


class JoinKind(StrEnum):
    """The kinds of join."""

    INNER = "inner"
    LEFT = "left outer"
    RIGHT = "right outer"
    FULL = "full outer"
    SEMI = "left semi"
    ANTI = "left anti"
    EXISTENCE = "existence"


@dataclass(frozen=True, slots=True)
class BoundJoin(BoundNode):
    """A join; an existence join adds the column `exists` to the left rows."""

    left: Bound
    right: Bound
    conditions: tuple[Expression, ...]
    kind: JoinKind = JoinKind.INNER
    exists: Attribute | None = None

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.left, self.right)

    @property
    def output(self) -> tuple[Attribute, ...]:
        if self.kind in {JoinKind.SEMI, JoinKind.ANTI}:
            return self.left.output
        if self.kind is JoinKind.EXISTENCE:
            return (*self.left.output, *(() if self.exists is None else (self.exists,)))
        return (*self.left.output, *self.right.output)


@dataclass(frozen=True, slots=True)
class BoundGenerate(BoundNode):
    """A generator applied to every row; `outer` keeps rows of which it makes nothing."""

    child: Bound
    generator: Expression
    outer: bool
    made: tuple[Attribute, ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.child,)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return (*self.child.output, *self.made)


@dataclass(frozen=True, slots=True)
class BoundWindow(BoundNode):
    """Window functions over one partitioning."""

    child: Bound
    partition: tuple[Expression, ...]
    calls: tuple[tuple[WindowCall, Attribute], ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.child,)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return (*self.child.output, *(attribute for _, attribute in self.calls))


@dataclass(frozen=True, slots=True)
class BoundLimit(BoundNode):
    """ORDER BY … LIMIT … OFFSET in a total order: (expression, direction) pairs."""

    child: Bound
    order: tuple[tuple[Expression, str], ...]
    limit: int | None
    offset: int

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.child,)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


@dataclass(frozen=True, slots=True)
class BoundConstant(BoundNode):
    """Rows that no table feeds: SQL text, and the name that each column has in it."""

    relation: str
    columns: tuple[tuple[str, Attribute], ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return ()

    @property
    def output(self) -> tuple[Attribute, ...]:
        return tuple(attribute for _, attribute in self.columns)


@dataclass(frozen=True, slots=True)
class BoundClock(BoundNode):
    """One row with the data timestamp."""

    now: Attribute

    @property
    def children(self) -> tuple[Bound, ...]:
        return ()

    @property
    def output(self) -> tuple[Attribute, ...]:
        return (self.now,)


@dataclass(frozen=True, slots=True)
class BoundAggregate(BoundNode):
    """GROUP BY: keys and aggregate calls. What is computed from them is a projection above."""

    child: Bound
    keys: tuple[tuple[Expression, Attribute], ...]
    calls: tuple[tuple[AggregateCall, Attribute], ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.child,)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return (*(attribute for _, attribute in self.keys), *(attribute for _, attribute in self.calls))


@dataclass(frozen=True, slots=True)
class BoundDistinct(BoundNode):
    """SELECT DISTINCT."""

    child: Bound

    @property
    def children(self) -> tuple[Bound, ...]:
        return (self.child,)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


@dataclass(frozen=True, slots=True)
class BoundUnion(BoundNode):
    """UNION ALL, by position."""

    branches: tuple[Bound, ...]
    columns: tuple[Attribute, ...]
    inputs: tuple[tuple[Attribute, ...], ...]

    @property
    def children(self) -> tuple[Bound, ...]:
        return self.branches

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.columns


@dataclass(frozen=True, slots=True)
class Refused:
    """A construct without a local delta rule, and what to do about it."""

    reason: str
    construct: str
    """What the user wrote, with its place."""
    fix: str

    @property
    def explained(self) -> str:
        """The construct, and where the reason is explained."""
        return with_link(self.reason, self.construct)

    @property
    def advice(self) -> str:
        """What to do, and where more is said."""
        return f"{self.fix} See {link(self.reason)}."


Bound = (
    BoundScan
    | BoundConstant
    | BoundClock
    | BoundProject
    | BoundFilter
    | BoundJoin
    | BoundAggregate
    | BoundDistinct
    | BoundUnion
    | BoundGenerate
    | BoundWindow
    | BoundLimit
)


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A whole query: its result columns, all its sources, and its tree or why there is none."""

    columns: tuple[Attribute, ...]
    sources: tuple[Source, ...]
    columns_used: tuple[tuple[str, tuple[str, ...]], ...]
    """Source id → names of the columns that the query reads."""
    views: tuple[tuple[str, str], ...]
    """Views inlined, each with its text, so that a changed view is noticed."""
    tree: Bound | Refused
    volatile: bool
    """The result can change although no source moved: it reads the clock, chance, or something other than Delta."""
    functions: tuple[tuple[str, str], ...] = ()
    """User-defined functions called, each with its code, or with nothing if that cannot be read."""


class Analyzer(Protocol):
    """Spark's analysis as the compiler sees it."""

    def bind(self, query: str) -> BoundQuery:
        """Analyse a query without running it; QueryInvalid if Spark refuses it."""
        ...


def restrict(bound: BoundQuery, names: tuple[str, ...]) -> BoundQuery:
    """The query with only the named result columns, in that order.

    A stream table over `SELECT *` keeps the columns it was created with when a source gains one. KeyError for one that
    is gone.
    """
    by_name = {attribute.name.lower(): attribute for attribute in bound.columns}
    return replace(bound, columns=tuple(by_name[name.lower()] for name in names))
