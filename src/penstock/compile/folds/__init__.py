"""Folds: aggregates kept as a few hidden columns, changed by adding a delta to them.

    state(R + ΔR)  =  fold(state(R), state(ΔR))

Only where the visible value that comes out is Spark's own to the bit. Where a particular group leaves that ground (an
extreme value was retracted, an average outgrew exact doubles), the fold asks for that group to be recomputed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.operators.expression import AggregateCall, Expression
from penstock.operators.types import decimal

State = Callable[[str], str]
"""Suffix of a state or delta component → its SQL."""


class Fold(Protocol):
    """How one aggregate call is kept."""

    states: tuple[tuple[str, str], ...]
    """Suffix and type of each hidden column."""
    nets_values: bool
    """True if transient argument values must cancel before the delta is taken."""

    def fill(self, argument: str) -> tuple[str, ...]:
        """Each state as an aggregate over plain rows."""
        ...

    def delta(self, argument: str, weight: str) -> tuple[tuple[str, str], ...]:
        """Components of the delta: suffix and an aggregate over weighted rows."""
        ...

    def fold(self, old: State, delta: State) -> tuple[str, ...]:
        """Each new state."""
        ...

    def final(self, state: State) -> str:
        """The visible value."""
        ...

    def stale(self, old: State, delta: State) -> str | None:
        """SQL that is true for a group whose new value cannot be folded."""
        ...


def argument_of(call: AggregateCall, render: Callable[[Expression], str]) -> str:
    """The argument with FILTER folded into it: NULL where the condition is not true."""
    if call.function == "Count":
        known = " AND ".join(f"{render(each)} IS NOT NULL" for each in call.arguments if each.nullable) or "TRUE"
        value = f"CASE WHEN {known} THEN 1 END"
    else:
        value = render(call.arguments[0])
    return f"CASE WHEN {render(call.condition)} THEN {value} END" if call.condition else value


def fold_of(call: AggregateCall, settings: dict[str, str]) -> Fold | None:
    """The fold for a call, or None if only a recomputation is exact."""
    from penstock.compile.folds.average import Average
    from penstock.compile.folds.count import Count
    from penstock.compile.folds.extreme import FOLDED_TYPES, Extreme
    from penstock.compile.folds.sum import Sum, summable

    text = next((part for part in call.call.parts if isinstance(part, str)), "")
    if call.distinct or text.startswith("try_"):
        return None
    if call.function == "Count":
        return Count()
    if len(call.arguments) != 1:
        return None
    type_ = call.arguments[0].type
    if call.function == "Sum" and summable(type_):
        return Sum(type_, call.call.type)
    if call.function == "Average" and summable(type_):
        lossy = settings.get("spark.sql.decimalOperations.allowPrecisionLoss", "true") == "true"
        average = Average(type_, call.call.type)
        return average if (decimal(type_) is None or (lossy and average.spare >= 7)) else None
    if call.function in {"Min", "Max"} and (type_ in FOLDED_TYPES or decimal(type_)):
        return Extreme(type_, smallest=call.function == "Min")
    return None
