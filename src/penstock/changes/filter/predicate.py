"""A condition on one row, as a tree.

The tree says what was written, not what it means for a table: names are unresolved and no types are chosen. Binding it
to a schema is `row_filter`, reading it from SQL text is `lang.predicate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">=", "<=>"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name, in any case."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal with its type: `value` is an Arrow scalar, of the null type for a bare NULL."""

    value: Any


@dataclass(frozen=True, slots=True)
class LocalTimestamp:
    """A TIMESTAMP literal without an offset: the session's time zone decides which instant it is."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Compare:
    """left operator right; `<=>` is equality to which NULL is a value like others."""

    operator: Operator
    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class InList:
    """operand IN (options), all compared in one common type."""

    operand: Predicate
    options: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """operand LIKE pattern ESCAPE escape."""

    operand: Predicate
    pattern: str
    escape: str = "\\"


@dataclass(frozen=True, slots=True)
class IsNull:
    """operand IS NULL."""

    operand: Predicate


@dataclass(frozen=True, slots=True)
class IsTruth:
    """operand IS TRUE, or IS FALSE; never NULL."""

    operand: Predicate
    truth: bool


@dataclass(frozen=True, slots=True)
class Not:
    """NOT operand; NULL stays NULL."""

    operand: Predicate


@dataclass(frozen=True, slots=True)
class And:
    """All of two or more parts."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of two or more parts."""

    parts: tuple[Predicate, ...]


Predicate: TypeAlias = Column | Constant | LocalTimestamp | Compare | InList | Like | IsNull | IsTruth | Not | And | Or
