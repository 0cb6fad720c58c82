"""Window functions.

    Δ(ω R)  =  ω(R₁ ⋉ K)  −  ω(R₀ ⋉ K)          K = partitions of ΔR, old and new

A row's value depends on its partition alone, so both ends are computed for touched partitions only; rows that come out
the same cancel. Without PARTITION BY the whole input is one partition. Where ORDER BY leaves rows equal, the columns
that the binder adds to the order decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.names import quote
from penstock.operators.consolidate import consolidate
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.difference import after_minus_before
from penstock.operators.expression import Attribute, Expression, columns_read
from penstock.operators.inexact import Inexact
from penstock.operators.operator import KeyRange, Operator, select_list
from penstock.operators.touched import touched_keys, touched_rows


@dataclass(frozen=True, slots=True)
class WindowCall:
    """One window function: its text with OVER, and the aggregate in it, if it is one."""

    call: Expression
    function: str
    total: bool
    """True if the value depends on the bag of rows of the partition alone, and not on the order they come in."""


@dataclass(frozen=True, slots=True)
class Window(Operator):
    """The child's columns and one column per call; all calls have the same partitioning."""

    child: Operator
    partition: tuple[Expression, ...]
    calls: tuple[tuple[WindowCall, Attribute], ...]

    name = "window"

    @property
    def rule(self) -> str:  # type: ignore[override]
        """Depends on whether there are partitions to narrow down to."""
        return "touched partitions, at the end minus at the start" if self.partition else "whole: both ends"

    @property
    def whole(self) -> bool:
        return not self.partition

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return (*self.child.columns, *(attribute for _, attribute in self.calls))

    @property
    def children(self) -> tuple[Operator, ...]:
        return (self.child,)

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        partitioned = {each.attribute for each in self.partition}
        below = tuple(each for each in within if each.attribute in partitioned)
        return self._computed(query, self.child.at(query, moment, below))

    def pruned(self, wanted: frozenset[int]) -> Operator:
        calls = tuple(each for each in self.calls if each[1].id in wanted)
        if not calls:
            return self.child.pruned(wanted)
        reads = columns_read(*self.partition, *(each.call for each, _ in calls))
        return replace(self, child=self.child.pruned(wanted | reads), calls=calls)

    def inexact(self, stored: bool) -> Inexact | None:
        for call, _ in self.calls:
            if not call.total:
                fix = "Order the window by columns that tell its rows apart, and use a ROWS frame."
                return Inexact("ORDER_DEPENDENT", call.call.named(self.child.by_id), fix)
        return None

    def _computed(self, query: DeltaQuery, child: str) -> str:
        held = self.child.by_id
        items = [(attribute.sql, attribute) for attribute in self.child.columns]
        items += [(call.call.render(held), attribute) for call, attribute in self.calls]
        return query.relation("window", f"SELECT {select_list(items)} FROM {quote(child)}", [child])

    def delta(self, query: DeltaQuery) -> str:
        if self.partition:
            keys = [(each, f"p{index}") for index, each in enumerate(self.partition)]
            named = ", ".join(each.render(self.child.by_id) for each in self.partition)
            delta = self.child.delta(query)
            touched = touched_keys(query, self.child, delta, keys, f"touched partitions by {named}")
            ends = [
                self._computed(query, touched_rows(query, self.child, end, touched, keys))
                for end in (Moment.AFTER, Moment.BEFORE)
            ]
        else:
            ends = [self.at(query, end) for end in (Moment.AFTER, Moment.BEFORE)]
        # Consolidated here, so that an operator above is touched by what changed and not by whole partitions.
        return consolidate(query, after_minus_before(query, ends[0], ends[1], self.columns), self.columns)

    def detail(self) -> str:
        return ", ".join(call.call.render(self.child.by_id) for call, _ in self.calls)
