"""Reproducible aggregates: the same bits for the same bag of rows, in whatever order the rows come.

A rule that takes an old value back must compute it once more. A sum of doubles that comes out different in its last bit
would leave the old row behind.
"""

from __future__ import annotations

from penstock.operators.expression import AggregateCall
from penstock.operators.types import INTEGERS, decimal, equal_by_text

_ORDER_FREE = {
    "Count",
    "Min",
    "Max",
    "BoolAnd",
    "BoolOr",
    "CountIf",
    "BitAndAgg",
    "BitOrAgg",
    "BitXorAgg",
    "HyperLogLogPlusPlus",
    "Percentile",
    "PercentileCont",
    "PercentileDisc",
    "Median",
    "SortedList",
}
"""Aggregates whose value depends on the bag of rows alone; sums and averages depend on their argument's type."""


def reproducible(call: AggregateCall) -> bool:
    """True if the call gives the same bits for the same bag of rows."""
    exact = all(
        each.type in INTEGERS or (decimal(each.type) is not None) or each.type == "BOOLEAN" for each in call.arguments
    )
    if call.function in {"Sum", "Average"}:
        # An average of integers sums doubles: exact up to 2^53, which BIGINT values alone can pass.
        return exact and not (call.function == "Average" and call.arguments[0].type == "BIGINT")
    if call.function in _ORDER_FREE:
        return call.function in {"Count", "SortedList"} or not any(equal_by_text(each.type) for each in call.arguments)
    return False
