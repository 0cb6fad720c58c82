"""Admission: is every rule that the tree would use exact for it? If not, say which node and why."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.compile.bound import Refused
from penstock.operators.aggregate import Aggregate
from penstock.operators.expression import AggregateCall, Attribute, Expression
from penstock.operators.operator import Operator
from penstock.operators.types import INTEGERS, binary_collation, decimal, equal_by_text, groupable
from penstock.operators.window import Window

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


_LONG_TYPE = 40
_WINDOW_ADVICE = "Order the window by columns that tell its rows apart, and use a ROWS frame."


def admit(operator: Operator, top: Aggregate | None) -> Refused | None:
    """None if the tree can be maintained; `top` is the aggregate that leans on stored rows, if there is one."""
    for node in operator.nodes():
        if isinstance(node, Aggregate):
            refused = _keys(node) or (None if node is top else _reproducible(node))
            if refused:
                return refused
        if isinstance(node, Window):
            for call, _ in node.calls:
                if not call.total:
                    return Refused("ORDER_DEPENDENT", _told(call.call, node), _WINDOW_ADVICE)
    return None


def admit_result(columns: Iterable[Attribute]) -> Refused | None:
    """None if result rows can be told apart, which a bag needs in order to take them back."""
    for column in columns:
        if not groupable(column.type):
            return Refused("NOT_COMPARABLE", _typed(column, column), "Cast the column to STRING.")
        if not binary_collation(column.type):
            return Refused("COLLATION", _typed(column, column), "Use COLLATE UTF8_BINARY.")
    return None


def reproducible(call: AggregateCall) -> bool:
    """True if the call gives the same bits for the same bag of rows, in whatever order they come."""
    exact = all(
        each.type in INTEGERS or (decimal(each.type) is not None) or each.type == "BOOLEAN" for each in call.arguments
    )
    if call.function in {"Sum", "Average"}:
        # An average of integers sums doubles: exact up to 2^53, which BIGINT values alone can pass.
        return exact and not (call.function == "Average" and call.arguments[0].type == "BIGINT")
    if call.function in _ORDER_FREE:
        return call.function in {"Count", "SortedList"} or not any(equal_by_text(each.type) for each in call.arguments)
    return False


def _reproducible(node: Aggregate) -> Refused | None:
    for call, _ in node.calls:
        if not reproducible(call):
            return Refused(
                "ORDER_DEPENDENT",
                _told(call.call, node),
                "Keep this aggregate in a stream table of its own and read that one.",
            )
    return None


def _keys(node: Aggregate) -> Refused | None:
    for expression, attribute in node.keys:
        if not groupable(expression.type):
            return Refused("NOT_COMPARABLE", _typed(expression, attribute), "Cast the key to STRING.")
        if not binary_collation(expression.type):
            return Refused("COLLATION", _typed(expression, attribute), "Group by the key COLLATE UTF8_BINARY.")
    return None


def _told(call: Expression, node: Aggregate | Window) -> str:
    columns = node.child.by_id
    return call.written or call.render_with(lambda held: columns[held].name)


def _typed(value: Expression | Attribute, column: Attribute) -> str:
    kind = value.type if len(value.type) <= _LONG_TYPE else f"{value.type[:_LONG_TYPE]}…"
    return f"{value.written or column.written or column.name} is of type {kind}"
