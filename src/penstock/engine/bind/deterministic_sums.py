"""Deterministic sums: below the top of a query, doubles are added in ascending order.

    sum(x)  =  x₁ + x₂ + … + xₙ,   x₁ ≤ x₂ ≤ … ≤ xₙ

Adding doubles in another order gives other last digits. A delta rule takes old values back, so a sum that another
operator reads must come out the same whenever the same rows are added. This rewrite makes it a fold over the sorted
list, and so one of the results that Spark could have given. Filling, refreshing, rebuilding and auditing all run the
rewritten query. Averages of doubles, and of BIGINT, which Spark adds as doubles, are rewritten too. A sum at the top of
a query stays as it is: a refresh replaces its stored value and never takes it back.
"""

from __future__ import annotations

from typing import Any

from penstock.engine.spark.catalyst import Catalyst, node_kind

_PASSED = {"Project", "Filter", "Sort", "SubqueryAlias", "WithCTE"}
_LISTED = "if(size(l) = 0, CAST(NULL AS ARRAY<DOUBLE>), l)"
"""No list if there is nothing to add, because then there is no sum either."""
_TEXTS = {
    "Sum": "aggregate(l, 0D, (a, b) -> a + b)",
    "Average": "aggregate(l, 0D, (a, b) -> a + b) / CAST(size(l) AS DOUBLE)",
}


def deterministic_sums(catalyst: Catalyst, plan: Any) -> Any:
    """The plan with every sum of doubles below the top in ascending order."""
    if not catalyst.contains(plan, "AGGREGATE"):
        return plan
    top = catalyst.tag("penstock.top")
    _mark_top(catalyst, plan, top)

    def ordered(node: Any) -> Any:
        if node_kind(node) != "Aggregate" or node.getTagValue(top).isDefined():
            return None
        return _aggregate(catalyst, node)

    return catalyst.rewrite(plan, ordered)


def adds_doubles(function: Any) -> bool:
    """True if an aggregate function adds floating-point numbers, so that its value depends on the order of rows."""
    kind = node_kind(function)
    argument = str(function.child().dataType().sql()) if kind in _TEXTS else ""
    return argument in {"FLOAT", "DOUBLE"} or (kind == "Average" and argument == "BIGINT")


def _mark_top(catalyst: Catalyst, plan: Any, top: Any) -> None:
    """Mark the aggregate that leans on stored rows. A subquery or the clock above it will become a join above it."""
    while not any(
        catalyst.contains(each, pattern)
        for each in catalyst.items(plan.expressions())
        for pattern in ("PLAN_EXPRESSION", "CURRENT_LIKE")
    ):
        if node_kind(plan) not in _PASSED:
            if node_kind(plan) == "Aggregate":
                plan.setTagValue(top, True)
            return
        plan = plan.plan() if node_kind(plan) == "WithCTE" else plan.child()


def _aggregate(catalyst: Catalyst, node: Any) -> Any | None:
    """Lists in the place of sums; a bare sum is added up above them, so that Spark decides its value over no rows."""
    lists, sums, changed = [], [], False
    for item in catalyst.items(node.aggregateExpressions()):
        bare = node_kind(item) == "Alias" and _is_sum(item.child())
        if bare:
            held = catalyst.alias(_listed(catalyst, item.child()), "l")
            total = _total(catalyst, item.child(), held.toAttribute())
            lists.append(held)
            sums.append(catalyst.alias(total, str(item.name()), item.exprId(), item.qualifier()))
        else:
            again = catalyst.replaced(item, lambda held: _in_place(catalyst, held))
            lists.append(again)
            sums.append(again.toAttribute())
            changed = changed or again is not item
        changed = changed or bare
    if not changed:
        return None
    grouped = catalyst.logical.Aggregate(node.groupingExpressions(), catalyst.seq(lists), node.child(), node.hint())
    return catalyst.logical.Project(catalyst.seq(sums), grouped)


def _is_sum(expression: Any) -> bool:
    return node_kind(expression) == "AggregateExpression" and adds_doubles(expression.aggregateFunction())


def _in_place(catalyst: Catalyst, expression: Any) -> Any | None:
    return _total(catalyst, expression, _listed(catalyst, expression)) if _is_sum(expression) else None


def _listed(catalyst: Catalyst, expression: Any) -> Any:
    condition = expression.filter().get() if expression.filter().isDefined() else None
    argument = catalyst.cast(expression.aggregateFunction().child(), "double")
    listed = catalyst.collected(argument, bool(expression.isDistinct()), condition)
    return _filled(catalyst, _LISTED, catalyst.expressions.SortArray(listed, catalyst.resolved("true", {})))


def _total(catalyst: Catalyst, expression: Any, listed: Any) -> Any:
    return _filled(catalyst, _TEXTS[node_kind(expression.aggregateFunction())], listed)


def _filled(catalyst: Catalyst, text: str, listed: Any) -> Any:
    """The text with `l` replaced."""
    place = catalyst.attribute("l", listed)

    def filled(held: Any) -> Any | None:
        return listed if node_kind(held) == "AttributeReference" and str(held.name()) == "l" else None

    return catalyst.replaced(catalyst.resolved(text, {"l": place}), filled)
