"""Why an operator's delta rule would not be exact, for a type or a function that it meets."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.operators.expression import Attribute, Expression

_LONGEST_TYPE = 40


@dataclass(frozen=True, slots=True)
class Inexact:
    """A reason code, the construct in the user's words, and what to do about it."""

    reason: str
    construct: str
    fix: str


def typed(value: Expression | Attribute, column: Attribute) -> str:
    """A value, in the user's words where they are known, and its type."""
    type_ = value.type if len(value.type) <= _LONGEST_TYPE else f"{value.type[:_LONGEST_TYPE]}…"
    return f"{value.written or column.written or column.name} is of type {type_}"
