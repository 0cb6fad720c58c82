"""The bound tree: a query as Spark's analyser understood it, as plain data.

The compiler knows nothing else about a query. Names, types, nullability, implicit casts, views, CTEs, star expansion
and column naming are settled here, by Spark. `Analyzer` is the port: the engine implements it on Spark, tests replay
recorded trees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from penstock.compile.reasons import link, with_link
from penstock.operators.expression import AggregateCall, Attribute, Expression
from penstock.operators.source import Source
from penstock.operators.window import WindowCall


@dataclass(frozen=True, slots=True)
class BoundScan:
    """A table read: the columns Spark resolved, and the name each has in the table."""

    source: Source
    columns: tuple[tuple[str, Attribute], ...]


@dataclass(frozen=True, slots=True)
class BoundProject:
    """A select list."""

    child: Bound
    items: tuple[tuple[Expression, Attribute], ...]


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """Predicates: rows for which all of them are true stay."""

    child: Bound
    conditions: tuple[Expression, ...]


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
class BoundJoin:
    """A join; an existence join adds the column `exists` to the left rows."""

    left: Bound
    right: Bound
    conditions: tuple[Expression, ...]
    kind: JoinKind = JoinKind.INNER
    exists: Attribute | None = None


@dataclass(frozen=True, slots=True)
class BoundGenerate:
    """A generator applied to every row; `outer` keeps rows of which it makes nothing."""

    child: Bound
    generator: Expression
    outer: bool
    made: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """Window functions over one partitioning."""

    child: Bound
    partition: tuple[Expression, ...]
    calls: tuple[tuple[WindowCall, Attribute], ...]


@dataclass(frozen=True, slots=True)
class BoundLimit:
    """ORDER BY … LIMIT … OFFSET in a total order: (expression, direction) pairs."""

    child: Bound
    order: tuple[tuple[Expression, str], ...]
    limit: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class BoundConstant:
    """Rows that no table feeds: SQL text, and the name that each column has in it."""

    relation: str
    columns: tuple[tuple[str, Attribute], ...]


@dataclass(frozen=True, slots=True)
class BoundClock:
    """One row with the data timestamp."""

    now: Attribute


@dataclass(frozen=True, slots=True)
class BoundAggregate:
    """GROUP BY: keys and aggregate calls. What is computed from them is a projection above."""

    child: Bound
    keys: tuple[tuple[Expression, Attribute], ...]
    calls: tuple[tuple[AggregateCall, Attribute], ...]


@dataclass(frozen=True, slots=True)
class BoundDistinct:
    """SELECT DISTINCT."""

    child: Bound


@dataclass(frozen=True, slots=True)
class BoundUnion:
    """UNION ALL, by position."""

    children: tuple[Bound, ...]
    columns: tuple[Attribute, ...]
    inputs: tuple[tuple[Attribute, ...], ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A construct without a local delta rule, and what to do about it."""

    reason: str
    construct: str
    """What the user wrote, with its place."""
    fix: str

    @property
    def told(self) -> str:
        """What was written, and where the reason is explained."""
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
