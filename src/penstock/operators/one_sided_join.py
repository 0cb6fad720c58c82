"""Joins that keep each left row by what it finds on the right: left outer, left semi, left anti, existence.

    Δ(L ⟕ R)  =  (ΔL + C) ⟕ R₁  −  C ⟕ R₀          C = L₀ ⋉ ΔR, on the full condition

For a fixed right side each of these joins is linear in the left, so ΔL is joined with the right at the end of the
interval. When the right side changes, only left rows that some change row of it matches can turn out differently; these
are joined with both ends. The condition is the query's own, so NULL keys, non-equi conditions and the three-valued
condition of NOT IN need no rule of their own. Right outer is left outer turned round; full outer is left outer plus the
right rows of an anti join, padded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from penstock.names import WEIGHT, quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute, Expression, columns_read
from penstock.operators.narrow import Equalities, narrow, worth
from penstock.operators.operator import KeyRange, Operator, column_list

_END = "`__ps_end`"
"""1 for rows that meet the right side at the end of the interval, 0 for those that meet it at the start."""


class Keeps(StrEnum):
    """What becomes of a left row."""

    OUTER = "left outer join"
    SEMI = "left semi join"
    ANTI = "left anti join"
    EXISTENCE = "existence join"


@dataclass(frozen=True, slots=True)
class OneSidedJoin(Operator):
    """Left rows: with their matches, kept or dropped by their matches, or with a column that says if there is one."""

    left: Operator
    right: Operator
    conditions: tuple[Expression, ...]
    keeps: Keeps
    exists: Attribute | None = None
    """The column that an existence join adds."""

    rule = "changed left rows against the right at the end; left rows that a right change matches, at both ends"

    @property
    def name(self) -> str:  # type: ignore[override]
        """Which of the four it is."""
        return self.keeps.value

    @property
    def columns(self) -> tuple[Attribute, ...]:
        if self.keeps is Keeps.OUTER:
            return (*self.left.columns, *self.right.columns)
        return (*self.left.columns, self.exists) if self.exists is not None else self.left.columns

    @property
    def children(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        kept = tuple(each for each in within if each.attribute in self.left.by_id)
        left = self.left.at(query, moment, kept)
        right = self.right.at(query, moment, self._for_right(self._equalities.spread(kept)))
        sql = self._joined(quote(left), quote(right), column_list(self.left.columns), self._condition())
        return query.relation("join", sql, [left, right])

    def delta(self, query: DeltaQuery) -> str:
        ends = (Moment.AFTER, Moment.BEFORE) if self.right.moved(query) else (Moment.AFTER,)
        left = self._left(query)
        right = self._right(query, left, ends)
        columns = f"{column_list(self.left.columns)}, {quote(WEIGHT)}"
        condition = f"(`__ps_left`.{_END} = `__ps_right`.{_END}) AND {self._condition()}"
        sql = self._joined(f"{quote(left)} AS `__ps_left`", f"{quote(right)} AS `__ps_right`", columns, condition)
        return query.relation("join_delta", sql, [left, right])

    def pruned(self, wanted: frozenset[int]) -> Operator:
        reads = wanted | columns_read(*self.conditions)
        return replace(self, left=self.left.pruned(reads), right=self.right.pruned(reads))

    def _left(self, query: DeltaQuery) -> str:
        """Changed left rows, and the touched ones once for each end; collected if there are touched ones."""
        columns, weight = column_list(self.left.columns), quote(WEIGHT)
        selects, uses = [], []
        if self.left.moved(query):
            delta = self.left.delta(query)
            selects.append(f"SELECT {columns}, {weight}, 1 AS {_END} FROM {quote(delta)}")
            uses.append(delta)
        if not self.right.moved(query):
            return query.relation("left", selects[0], uses)
        changed = self.right.delta(query)
        within = narrow(query, changed, self.right.columns, self.conditions, self.left)
        rows = self.left.at(query, Moment.BEFORE, within)
        touched = query.relation(
            "touched_left",
            f"SELECT {columns} FROM {quote(rows)} LEFT SEMI JOIN {quote(changed)} ON {self._condition()}",
            [rows, changed],
        )
        selects.append(
            f"SELECT {columns}, {weight}, {_END} FROM {quote(touched)} "
            f"CROSS JOIN (VALUES (1L, 1), (-1L, 0)) AS e({weight}, {_END})"
        )
        names = tuple(each.column for each in self.left.columns)
        return query.collect(
            "\nUNION ALL\n".join(selects), [*uses, touched], (*names, WEIGHT, "__ps_end"), f"left rows of a {self.name}"
        )

    def _right(self, query: DeltaQuery, left: str, ends: tuple[Moment, ...]) -> str:
        """The right rows that those left rows can meet, at the ends they meet them at."""
        columns = column_list(self.right.columns, prefix="r.")
        within = self._within(query, left)
        relations = [self.right.at(query, moment, within) for moment in ends]
        selects = [
            f"SELECT {columns}, {end} AS {_END} FROM {quote(relation)} r "
            f"LEFT SEMI JOIN {quote(left)} l ON l.{_END} = {end} AND {self._condition('l.', 'r.')}"
            for relation, end in zip(relations, (1, 0), strict=False)
        ]
        return query.relation("right", "\n  UNION ALL\n  ".join(selects), [*relations, left])

    def _joined(self, left: str, right: str, columns: str, condition: str) -> str:
        if self.keeps is Keeps.OUTER:
            listed = column_list(self.right.columns)
            return f"SELECT {columns}, {listed} FROM {left} LEFT JOIN {right} ON {condition}"
        if self.keeps is Keeps.EXISTENCE:
            assert self.exists is not None
            found = f"EXISTS (SELECT 1 FROM {right} WHERE {condition})"
            return f"SELECT {columns}, {found} AS {self.exists.sql} FROM {left}"
        kind = "SEMI" if self.keeps is Keeps.SEMI else "ANTI"
        return f"SELECT {columns} FROM {left} LEFT {kind} JOIN {right} ON {condition}"

    def _condition(self, left: str = "", right: str = "") -> str:
        lefts, rights = self.left.by_id, self.right.by_id

        def column(held: int) -> str:
            return f"{left}{lefts[held].sql}" if held in lefts else f"{right}{rights[held].sql}"

        return " AND ".join(each.render_with(column) for each in self.conditions) or "true"

    def _within(self, query: DeltaQuery, left: str) -> tuple[KeyRange, ...]:
        """The right rows that those left rows can equal; where these were collected, their keys are at hand."""
        if not self.right.moved(query):
            return narrow(query, left, self.left.columns, self.conditions, self.right)
        lefts = self.left.by_id
        return tuple(
            KeyRange(attribute, left, lefts[key].column)
            for attribute in self.right.by_id
            if worth(query, self.right, attribute)
            for key in sorted(self._equalities.of(attribute) & lefts.keys())[:1]
        )

    def _for_right(self, ranges: tuple[KeyRange, ...]) -> tuple[KeyRange, ...]:
        return tuple(each for each in ranges if each.attribute in self.right.by_id)

    @property
    def _equalities(self) -> Equalities:
        return Equalities(self.conditions, (*self.left.columns, *self.right.columns))

    def detail(self) -> str:
        columns = {**self.left.by_id, **self.right.by_id}
        return " AND ".join(each.render(columns) for each in self.conditions) or "every row"
