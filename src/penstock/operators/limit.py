"""ORDER BY … LIMIT … OFFSET below another operator.

    Δ(λ R)  =  λ R₁  −  λ R₀

Which rows are among the first depends on all of them, so the rule reads both ends whole. For a limit at the top of a
query the stream table stores the first rows, and `compile/store_top.py` has its rule. The binder has made the order
total.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.names import quote
from penstock.operators.consolidate import consolidate
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.difference import after_minus_before
from penstock.operators.expression import Attribute, Expression, columns_read
from penstock.operators.operator import KeyRange, Operator, column_list


@dataclass(frozen=True, slots=True)
class Limit(Operator):
    """The rows from `offset` on, at most `limit` of them, in the order of (expression, direction) pairs."""

    child: Operator
    order: tuple[tuple[Expression, str], ...]
    limit: int | None
    offset: int

    name = "limit"
    rule = "whole: both ends"

    @property
    def whole(self) -> bool:
        return True

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return self.child.columns

    @property
    def children(self) -> tuple[Operator, ...]:
        return (self.child,)

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        child = self.child.at(query, moment)
        sql = f"SELECT {column_list(self.columns)} FROM {quote(child)} {self.clause()}"
        return query.relation("limit", sql, [child])

    def delta(self, query: DeltaQuery) -> str:
        after, before = (self.at(query, moment) for moment in (Moment.AFTER, Moment.BEFORE))
        return consolidate(query, after_minus_before(query, after, before, self.columns), self.columns)

    def pruned(self, wanted: frozenset[int]) -> Operator:
        reads = columns_read(*(expression for expression, _ in self.order))
        return replace(self, child=self.child.pruned(wanted | reads))

    def ordering(self) -> str:
        """The ORDER BY list over the child's columns."""
        held = self.child.by_id
        return ", ".join(f"{expression.render(held)} {direction}" for expression, direction in self.order)

    def clause(self) -> str:
        """ORDER BY, LIMIT and OFFSET."""
        text = f"ORDER BY {self.ordering()}"
        if self.limit is not None:
            text += f" LIMIT {self.limit}"
        return f"{text} OFFSET {self.offset}" if self.offset else text

    def detail(self) -> str:
        return self.clause()
