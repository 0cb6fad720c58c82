"""Normal form: Spark's own rewrite rules bring an analysed plan into the few shapes that the binder reads.

Subqueries, LATERAL joins and set operations become joins and aggregates exactly as they do when Spark runs the query,
with its decorrelation and its three-valued logic. Three rewrites do here what Spark leaves to execution: they join an
uncorrelated scalar subquery as the one row it must be, and a correlated one without aggregate as one row per key, each
with the error for a second row; they turn PIVOT's internal aggregate into an array of filtered ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import functions as F

from penstock.engine.bind.pinned_clock import clock_text
from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.operators.clock import NOW

_TOO_MANY = (
    "raise_error('[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery used as an expression.')"
)
_SET_OPERATIONS = (
    "RewriteExceptAll",
    "RewriteIntersectAll",
    "ReplaceIntersectWithSemiJoin",
    "ReplaceExceptWithAntiJoin",
)
_SUBQUERIES = (
    "BooleanSimplification",
    "PullupCorrelatedPredicates",
    "RewriteCorrelatedScalarSubquery",
    "RewriteLateralSubquery",
    "RewritePredicateSubquery",
)
_PUSHED_THROUGH = ("OUTER_JOIN", "LEFT_SEMI_OR_ANTI_JOIN", "WINDOW", "PLAN_EXPRESSION")
_CLOCK = -1
"""Stands for the clock where subqueries have their ids."""
_ROUNDS = 20
"""Each round resolves one level of nesting."""


def normalise(catalyst: Catalyst, plan: Any) -> Any:
    """The plan in normal form. What has none stays as it is, for binding to refuse."""
    return _Normaliser(catalyst).plan(catalyst.inline_ctes(plan))


class _Normaliser:
    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._logical = catalyst.logical

    def plan(self, plan: Any) -> Any:
        for _ in range(_ROUNDS):
            before = plan
            for rule in _SET_OPERATIONS:
                plan = self._catalyst.optimizer_rule(rule).apply(plan)
            if self._contains(plan, "PLAN_EXPRESSION") or self._contains(plan, "LATERAL_JOIN"):
                for rule in _SUBQUERIES:
                    plan = self._catalyst.optimizer_rule(rule).apply(plan)
            plan = self._up(plan, self._written_out)
            # A subquery's join stands below the whole WHERE: without this, it would be joined to the bare product of
            # the tables in FROM.
            if any(self._contains(plan, each) for each in _PUSHED_THROUGH):
                plan = self._catalyst.optimizer_rule("PushDownPredicates").apply(plan)
            if plan.fastEquals(before):
                break
        return self._catalyst.analysis_rule("UpdateAttributeNullability").apply(plan)

    def _contains(self, node: Any, pattern: str) -> bool:
        return self._catalyst.contains(node, pattern)

    def _up(self, node: Any, change: Callable[[Any], Any]) -> Any:
        """The tree with `change` applied to every node, children first."""
        children = self._catalyst.items(node.children())
        changed = [self._up(child, change) for child in children]
        if any(new is not old for new, old in zip(changed, children, strict=True)):
            node = node.withNewChildren(self._catalyst.seq(changed))
        return change(node)

    def _written_out(self, node: Any) -> Any:
        kind = node_kind(node)
        if kind == "Join" and str(node.joinType().toString()) == "LeftSingle":
            return self._single_join(node)
        if kind == "Aggregate" and "pivotfirst(" in str(node.simpleString(1000)):
            return self._pivot(node)
        if not any(
            self._contains(each, pattern)
            for each in self._catalyst.items(node.expressions())
            for pattern in ("SCALAR_SUBQUERY", "CURRENT_LIKE")
        ):
            return node
        if kind == "Project":
            joined = _Scalars(self, self._catalyst)
            items = [joined.taken(each) for each in self._catalyst.items(node.projectList())]
            return self._logical.Project(self._catalyst.seq(items), joined.beside(node.child()))
        if kind == "Filter":
            joined = _Scalars(self, self._catalyst)
            condition = joined.taken(node.condition())
            return self._only(node, self._logical.Filter(condition, joined.beside(node.child())))
        if kind == "Join":
            return self._join(node)
        if kind == "Aggregate":
            return self._aggregate(node)
        return node

    def _only(self, node: Any, wider: Any) -> Any:
        """A plan cut down to the columns of the node that it replaces."""
        return self._logical.Project(node.output(), wider)

    def _join(self, node: Any) -> Any:
        joined = _Scalars(self, self._catalyst)
        condition = self._catalyst.some(joined.taken(node.condition().get()))
        left, right = node.left(), node.right()
        if str(node.joinType().toString()) == "RightOuter":
            left = joined.beside(left)
        else:
            right = joined.beside(right)
        return self._only(node, self._logical.Join(left, right, node.joinType(), condition, node.hint()))

    def _aggregate(self, node: Any) -> Any:
        """Subqueries inside aggregate calls and keys are joined below the aggregate, all others above it."""
        plain = self._catalyst.optimizer_rule("PullOutGroupingExpressions").apply(node)
        if node_kind(plain) != "Aggregate":
            return node
        below, above = _Scalars(self, self._catalyst), _Scalars(self, self._catalyst)
        inner = list(self._catalyst.items(plain.groupingExpressions()))
        if any(node_kind(each) != "AttributeReference" for each in inner):
            return node

        def call(expression: Any) -> Any:
            if node_kind(expression) != "AggregateExpression":
                return None
            inner.append(self._catalyst.alias(below.taken(expression), "call"))
            return inner[-1].toAttribute()

        items = [
            above.taken(self._catalyst.replaced(each, call))
            for each in self._catalyst.items(plain.aggregateExpressions())
        ]
        aggregate = self._logical.Aggregate(
            plain.groupingExpressions(),
            self._catalyst.seq(inner),
            below.beside(plain.child()),
            plain.hint(),
        )
        return self._logical.Project(self._catalyst.seq(items), above.beside(aggregate))

    def one_row(self, plan: Any) -> Any:
        """A scalar subquery's plan as exactly one row: NULL if it has none, an error if it has two."""
        inner = plan
        while node_kind(inner) in {"Project", "SubqueryAlias"}:
            inner = inner.child()
        if node_kind(inner) == "Aggregate" and inner.groupingExpressions().isEmpty():
            return plan
        frame = self._catalyst.frame(plan).toDF("value")
        value = F.expr(f"CASE WHEN count(1) > 1 THEN {_TOO_MANY} ELSE max(value) END")
        return self._catalyst.analyzed(frame.agg(value.alias("value")))

    def _single_join(self, node: Any) -> Any:
        """A left join that may find at most one row: the right side grouped by its keys, with a row count."""
        catalyst = self._catalyst
        right = {int(each.exprId().id()): each for each in catalyst.items(node.right().output())}
        keys: list[Any] = []
        condition = node.condition()
        for term in catalyst.conjuncts(condition.get()) if condition.isDefined() else []:
            sides = [term.left(), term.right()] if node_kind(term) == "EqualTo" else []
            on_right = [
                each for each in sides if node_kind(each) == "AttributeReference" and int(each.exprId().id()) in right
            ]
            others = [int(each.exprId().id()) for each in catalyst.items(term.references().toSeq())]
            if len(on_right) != 1 or sum(each in right for each in others) != 1:
                return node
            keys.append(on_right[0])
        key_ids = {int(each.exprId().id()) for each in keys}
        values = [each for held, each in right.items() if held not in key_ids]
        aggregates = catalyst.expressions.aggregate
        one = catalyst.parse_expression("1")
        count = catalyst.alias(catalyst.aggregate_call(aggregates.Count(catalyst.seq([one]))), "rows")
        largest = [catalyst.alias(catalyst.aggregate_call(aggregates.Max(each)), str(each.name())) for each in values]
        grouped = self._logical.Aggregate(
            catalyst.seq(keys), catalyst.seq([*keys, count, *largest]), node.right(), catalyst.none
        )
        join = self._logical.Join(node.left(), grouped, catalyst.join_type("LeftOuter"), node.condition(), node.hint())
        items = [*catalyst.items(node.left().output()), *keys]
        for value, held in zip(values, largest, strict=True):
            checked = catalyst.resolved(
                f"CASE WHEN rows > 1 THEN {_TOO_MANY} ELSE value END",
                {"rows": count.toAttribute(), "value": held.toAttribute()},
            )
            items.append(catalyst.alias(checked, str(value.name()), value.exprId()))
        return self._logical.Project(catalyst.seq(items), join)

    def _pivot(self, node: Any) -> Any:
        catalyst = self._catalyst

        def array(expression: Any) -> Any:
            if node_kind(expression) != "AggregateExpression":
                return None
            function = expression.aggregateFunction()
            if node_kind(function) != "PivotFirst":
                return None
            cells = []
            for value in catalyst.items(function.pivotColumnValues()):
                column = function.pivotColumn()
                here = catalyst.expressions.EqualNullSafe(column, catalyst.literal(value, column.dataType()))
                largest = catalyst.expressions.aggregate.Max(function.valueColumn())
                cells.append(catalyst.aggregate_call(largest, here))
            return catalyst.expressions.CreateArray(catalyst.seq(cells), False)

        items = [catalyst.replaced(each, array) for each in catalyst.items(node.aggregateExpressions())]
        return self._logical.Aggregate(node.groupingExpressions(), catalyst.seq(items), node.child(), node.hint())


class _Scalars:
    """Values that are the same for every row, taken out of one node: uncorrelated scalar subqueries and the clock."""

    def __init__(self, normaliser: _Normaliser, catalyst: Catalyst) -> None:
        self._normaliser = normaliser
        self._catalyst = catalyst
        self._plans: list[Any] = []
        self._columns: dict[int, Any] = {}

    def taken(self, expression: Any) -> Any:
        """The expression with a column instead of each subquery."""
        return self._catalyst.replaced(expression, self._column)

    def _column(self, expression: Any) -> Any:
        if (text := clock_text(expression)) is not None:
            return self._catalyst.resolved(text, {"now": self._now()})
        if node_kind(expression) != "ScalarSubquery" or not expression.outerAttrs().isEmpty():
            return None
        held = int(expression.exprId().id())
        if held not in self._columns:
            self._plans.append(self._normaliser.one_row(expression.plan()))
            self._columns[held] = self._plans[-1].output().head()
        return self._columns[held]

    def _now(self) -> Any:
        if _CLOCK not in self._columns:
            clock = self._catalyst.clock(NOW)
            self._plans.append(clock)
            self._columns[_CLOCK] = clock.output().head()
        return self._columns[_CLOCK]

    def beside(self, child: Any) -> Any:
        """The node's input with what was taken joined to every row."""
        for plan in self._plans:
            inner = self._catalyst.join_type("Inner")
            child = self._catalyst.logical.Join(child, plan, inner, self._catalyst.none, self._catalyst.no_join_hint())
        return child
