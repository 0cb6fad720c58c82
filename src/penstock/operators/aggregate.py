"""Aggregate below another operator.

    Δ(γ R)  =  γ(R₁ ⋉ K)  −  γ(R₀ ⋉ K)          K = group keys of ΔR

Only the groups that a change row belongs to can differ, so the rule computes both ends for those alone. It needs calls
whose value the rows alone reproduce. For an aggregate at the top of a query the stream table stores the groups, and
`compile/store_groups.py` has its rules. DISTINCT is an aggregate without calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.difference import after_minus_before
from penstock.operators.expression import AggregateCall, Attribute, Expression, columns_read
from penstock.operators.inexact import Inexact, typed
from penstock.operators.operator import KeyRange, Operator, follow, select_list
from penstock.operators.reproducible import reproducible
from penstock.operators.touched import touched_keys, touched_rows
from penstock.operators.types import binary_collation, groupable


@dataclass(frozen=True, slots=True)
class Aggregate(Operator):
    """GROUP BY `keys`, computing `calls`; without keys, one row over everything."""

    child: Operator
    keys: tuple[tuple[Expression, Attribute], ...]
    calls: tuple[tuple[AggregateCall, Attribute], ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """DISTINCT is shown under its own name."""
        return "aggregate" if self.calls or not self.keys else "distinct"

    @property
    def rule(self) -> str:  # type: ignore[override]
        """Depends on whether there are groups to narrow down to."""
        return "touched groups at the end minus touched groups at the start" if self.keys else "whole: both ends"

    @property
    def whole(self) -> bool:
        return not self.keys

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return (*(attribute for _, attribute in self.keys), *(attribute for _, attribute in self.calls))

    @property
    def children(self) -> tuple[Operator, ...]:
        return (self.child,)

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        return self.grouped(query, self.child.at(query, moment, follow(within, self.keys)))

    def pruned(self, wanted: frozenset[int]) -> Operator:
        # Without keys one call must stay, or there would be no aggregate.
        calls = tuple(each for each in self.calls if each[1].id in wanted) or (() if self.keys else self.calls[:1])
        reads = columns_read(*(expression for expression, _ in self.keys), *(call for call, _ in calls))
        return Aggregate(self.child.pruned(reads), self.keys, calls)

    def inexact(self, stored: bool) -> Inexact | None:
        for expression, attribute in self.keys:
            if not groupable(expression.type):
                return Inexact("NOT_COMPARABLE", typed(expression, attribute), "Cast the key to STRING.")
            if not binary_collation(expression.type):
                return Inexact("COLLATION", typed(expression, attribute), "Group by the key COLLATE UTF8_BINARY.")
        for call, _ in self.calls if not stored else ():
            if not reproducible(call):
                fix = "Keep this aggregate in a stream table of its own and read that one."
                return Inexact("ORDER_DEPENDENT", call.call.named(self.child.by_id), fix)
        return None

    def grouped(self, query: DeltaQuery, child: str) -> str:
        """Group the rows of a relation that has the child's columns."""
        columns = self.child.by_id
        items = [(expression.render(columns), attribute) for expression, attribute in self.keys]
        items += [(call.call.render(columns), attribute) for call, attribute in self.calls]
        sql = f"SELECT {select_list(items)} FROM {quote(child)}"
        if self.keys:
            sql += f" GROUP BY {', '.join(expression.render(columns) for expression, _ in self.keys)}"
        return query.relation("group", sql, [child])

    def delta(self, query: DeltaQuery) -> str:
        if self.keys:
            touched = self.touched(query, self.child.delta(query))
            after, before = (
                self.grouped(query, self.narrowed(query, moment, touched)) for moment in (Moment.AFTER, Moment.BEFORE)
            )
        else:
            after, before = self.at(query, Moment.AFTER), self.at(query, Moment.BEFORE)
        return after_minus_before(query, after, before, self.columns)

    def touched(self, query: DeltaQuery, delta: str) -> str:
        """Collect the group keys that the child's delta touches."""
        return touched_keys(
            query, self.child, delta, self._named(), f"touched groups of {self.name} by {self.detail()}"
        )

    def narrowed(
        self, query: DeltaQuery, moment: Moment, touched: str, collected: tuple[str, tuple[str, ...]] | None = None
    ) -> str:
        """The child's rows at a moment that belong to touched groups."""
        return touched_rows(query, self.child, moment, touched, self._named(), collected)

    def _named(self) -> list[tuple[Expression, str]]:
        return [(expression, attribute.column) for expression, attribute in self.keys]

    def detail(self) -> str:
        columns = self.child.by_id
        keys = ", ".join(expression.render(columns) for expression, _ in self.keys) or "everything"
        calls = ", ".join(call.call.render(columns) for call, _ in self.calls)
        return f"{keys}: {calls}" if calls else keys
