"""The clock: one row with the moment that the result stands for, the data timestamp of a refresh.

    Δclock  =  +now₁  −now₀

A condition on `current_timestamp()` is a join with this row, so the rule of the inner join moves rows in and out as
time goes by: σ(p₁)(ΔR) + (σ(p₁) − σ(p₀))(R₀).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.names import WEIGHT, quote
from penstock.operators.delta_query import DeltaQuery, Leaf, LeafKind, Moment
from penstock.operators.expression import Attribute
from penstock.operators.operator import KeyRange, Operator

NOW = "__ps_now"


@dataclass(frozen=True, slots=True)
class Clock(Operator):
    """A relation of one row and one column."""

    now: Attribute

    name = "clock"
    rule = "the data timestamp at the end minus the one at the start"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return (self.now,)

    @property
    def children(self) -> tuple[Operator, ...]:
        return ()

    def moved(self, query: DeltaQuery) -> bool:
        return query.clock

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        leaf = self._leaf(query, moment)
        return query.relation("clock", f"SELECT {quote(NOW)} AS {self.now.sql} FROM {quote(leaf)}", [leaf])

    def delta(self, query: DeltaQuery) -> str:
        after, before = (self._leaf(query, moment) for moment in (Moment.AFTER, Moment.BEFORE))
        sql = (
            f"SELECT {quote(NOW)} AS {self.now.sql}, CAST(1 AS BIGINT) AS {quote(WEIGHT)} FROM {quote(after)}\n"
            f"  UNION ALL\n  SELECT {quote(NOW)}, CAST(-1 AS BIGINT) FROM {quote(before)}"
        )
        return query.relation("clock", sql, [after, before])

    def pruned(self, wanted: frozenset[int]) -> Operator:
        return self

    def _leaf(self, query: DeltaQuery, moment: Moment) -> str:
        if not query.clock:
            moment = Moment.AFTER
        return query.leaf(Leaf(query.fresh_leaf_name("clock", moment.value), LeafKind.CLOCK, (NOW,), None, moment))

    def detail(self) -> str:
        return "the data timestamp"
