"""Which fold keeps an aggregate call, if any does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.compile.folds.average import Average
from penstock.compile.folds.count import Count
from penstock.compile.folds.extreme import FOLDED_TYPES, Extreme
from penstock.compile.folds.fold import Fold
from penstock.compile.folds.sum import Sum, summable
from penstock.compile.folds.wide_sum import WideSum, widely_summable
from penstock.operators.expression import AggregateCall, Expression
from penstock.operators.types import decimal


def argument_of(call: AggregateCall, render: Callable[[Expression], str]) -> str:
    """The argument with FILTER folded into it: NULL where the condition is not true."""
    if call.function == "Count":
        known = " AND ".join(f"{render(each)} IS NOT NULL" for each in call.arguments if each.nullable) or "TRUE"
        value = f"CASE WHEN {known} THEN 1 END"
    else:
        value = render(call.arguments[0])
    return f"CASE WHEN {render(call.condition)} THEN {value} END" if call.condition else value


def fold_of(call: AggregateCall, settings: Mapping[str, str]) -> Fold | None:
    """The fold for a call, or None if only a recomputation is exact."""
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
    if call.function == "Sum" and widely_summable(type_):
        return WideSum(type_, call.call.type)
    if call.function == "Average" and summable(type_):
        lossy = settings.get("spark.sql.decimalOperations.allowPrecisionLoss", "true") == "true"
        average = Average(type_, call.call.type)
        return average if (decimal(type_) is None or (lossy and average.spare >= 7)) else None
    if call.function in {"Min", "Max"} and (type_ in FOLDED_TYPES or decimal(type_)):
        return Extreme(type_, smallest=call.function == "Min")
    return None
