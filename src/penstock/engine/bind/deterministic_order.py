"""Deterministic order: where ORDER BY leaves rows equal, the rest of their columns decide.

`LIMIT` and window functions over rows (row_number, lag, ROWS frames) take rows that tie in whatever order they come in.
This rewrite appends all columns that Spark can sort by to the order. The result is then one that Spark could have
given, and the same one at every run: filling, refreshing, rebuilding and auditing all run the rewritten query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.engine.bind.deterministic_sums import adds_doubles
from penstock.engine.spark.catalyst import Catalyst, node_kind

BY_PEERS = {"Rank", "DenseRank", "PercentRank", "CumeDist"}
"""Functions over a ROWS frame that hold rows equal when ORDER BY does; more order would change them."""


def deterministic_order(catalyst: Catalyst, plan: Any) -> Any:
    """The plan with every order that decides about rows made total."""
    if not any(catalyst.contains(plan, each) for each in ("WINDOW", "LIMIT", "OFFSET")):
        return plan

    def ordered(node: Any) -> Any:
        kind = node_kind(node)
        if kind == "Window":
            return _window(catalyst, node)
        if kind in {"LocalLimit", "Offset"} and node_kind(node.child()) != "Offset":
            below = _sorted(catalyst, node.child())
            return None if below is None else node.withNewChildren(catalyst.seq([below]))
        return _above_projection(catalyst, node) if kind == "GlobalLimit" else None

    return catalyst.rewrite(plan, ordered)


def _above_projection(catalyst: Catalyst, limit: Any) -> Any | None:
    """The limit directly over its sort: Spark forgets the order of a correlated limit when a projection is between."""
    local = limit.child()
    project = local.child()
    if node_kind(project) != "Project" or not _leads_to_sort(project.child()):
        return None
    cut = limit.withNewChildren(catalyst.seq([local.withNewChildren(catalyst.seq([project.child()]))]))
    return project.withNewChildren(catalyst.seq([cut]))


def _sorted(catalyst: Catalyst, node: Any) -> Any | None:
    """The input of a limit under a total order; None if it has one already."""
    kind = node_kind(node)
    if kind == "Sort":
        extra = _orders(catalyst, node.child(), catalyst.items(node.order()))
        if not extra:
            return None
        order = catalyst.seq([*catalyst.items(node.order()), *extra])
        return catalyst.logical.Sort(order, True, node.child(), node.hint())
    if kind in {"Project", "SubqueryAlias"}:
        below = _sorted(catalyst, node.child()) if _leads_to_sort(node) else None
        if below is not None:
            return node.withNewChildren(catalyst.seq([below]))
        if _leads_to_sort(node):
            return None
    orders = _orders(catalyst, node, [])
    return catalyst.logical.Sort(catalyst.seq(orders), True, node, catalyst.none) if orders else None


def _leads_to_sort(node: Any) -> bool:
    while node_kind(node) in {"Project", "SubqueryAlias"}:
        node = node.child()
    return node_kind(node) == "Sort"


def _window(catalyst: Catalyst, node: Any) -> Any | None:
    aliases = catalyst.items(node.windowExpressions())
    open_ones = [each for each in aliases if takes_rows_in_order(each.child())]
    extra = _orders(catalyst, node.child(), catalyst.items(node.orderSpec())) if open_ones else []
    if not extra:
        return None
    order = catalyst.seq([*catalyst.items(node.orderSpec()), *extra])
    below = node.child()
    others = [each for each in aliases if not any(each is held for held in open_ones)]
    if others:
        below = catalyst.logical.Window(
            catalyst.seq(others), node.partitionSpec(), node.orderSpec(), below, node.hint()
        )
    ordered = []
    for alias in open_ones:
        expression = alias.child()
        frame = expression.windowSpec().frameSpecification()
        spec = catalyst.expressions.WindowSpecDefinition(node.partitionSpec(), order, frame)
        again = catalyst.expressions.WindowExpression(expression.windowFunction(), spec)
        ordered.append(alias.withNewChildren(catalyst.seq([again])))
    return catalyst.logical.Window(catalyst.seq(ordered), node.partitionSpec(), order, below, node.hint())


def takes_rows_in_order(expression: Any) -> bool:
    """True if a window function's value depends on the order of rows that ORDER BY may hold for equal.

    Not so for a frame over ranges, which takes such rows together; but its first and last row are single rows.
    """
    function = expression.windowFunction()
    kind = node_kind(function)
    if kind == "AggregateExpression":
        kind = node_kind(function.aggregateFunction())
    frame = expression.windowSpec().frameSpecification()
    starts, ends = _bound(frame.lower()) == "UnboundedPreceding", _bound(frame.upper()) == "UnboundedFollowing"
    if kind in {"First", "Last"} and (starts if kind == "First" else ends):
        return _bound(frame.upper() if kind == "First" else frame.lower()) in {
            "CurrentRow",
            "UnboundedPreceding",
            "UnboundedFollowing",
        } or "RowFrame" in str(frame.frameType().toString())
    if "RowFrame" not in str(frame.frameType().toString()) or kind in BY_PEERS:
        return False
    if not (starts and ends):
        return True
    # All rows of the partition, whatever their order: that matters if they are listed, or added as doubles.
    aggregate = node_kind(function) == "AggregateExpression"
    return kind == "CollectList" or (aggregate and adds_doubles(function.aggregateFunction()))


def _bound(boundary: Any) -> str:
    return node_kind(boundary).rstrip("$")


def _orders(catalyst: Catalyst, node: Any, given: Sequence[Any]) -> list[Any]:
    """Sort orders for the columns of a node that are not sorted by yet and can be."""
    sorted_by = {int(each.child().exprId().id()) for each in given if node_kind(each.child()) == "AttributeReference"}
    return [
        catalyst.ascending(each)
        for each in catalyst.items(node.output())
        if int(each.exprId().id()) not in sorted_by and orderable(catalyst, each)
    ]


def orderable(catalyst: Catalyst, expression: Any) -> bool:
    """True if Spark can sort by the expression."""
    return bool(catalyst.orderable(expression.dataType()))
