"""Filter: rows for which every condition is true.

Δ(σ R)  =  σ ΔR          linear; a condition that is NULL drops the row
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute, Comparison, Expression, columns_read
from penstock.operators.operator import KeyRange, Operator, column_list


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    """WHERE, or HAVING above an aggregate."""

    child: Operator
    conditions: tuple[Expression, ...]

    name = "filter"
    rule = "linear: the condition on the change rows"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return self.child.columns

    @property
    def children(self) -> tuple[Operator, ...]:
        return (self.child,)

    @property
    def condition(self) -> str:
        """The conditions as SQL over the child's columns."""
        return " AND ".join(each.render(self.child.by_id) for each in self.conditions)

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        return self._filtered(query, self.child.at(query, moment, within), weighted=False)

    def delta(self, query: DeltaQuery) -> str:
        return self._filtered(query, self.child.delta(query), weighted=True)

    def _filtered(self, query: DeltaQuery, child: str, weighted: bool) -> str:
        columns = column_list(self.columns, weighted)
        sql = f"SELECT {columns} FROM {quote(child)} WHERE {self.condition}"
        rows = query.plain(child)
        return query.relation("filter", sql, [child], rows and rows.filtered(self._comparisons()))

    def _comparisons(self) -> list[tuple[str, Comparison | None]]:
        """The conditions that compare one column with constants; None for the others."""
        return [
            (self.child.by_id[min(each.reads)].column, each.comparison) if each.comparison is not None else ("", None)
            for each in self.conditions
        ]

    def pruned(self, wanted: frozenset[int]) -> Operator:
        return replace(self, child=self.child.pruned(wanted | columns_read(*self.conditions)))

    def detail(self) -> str:
        return self.condition
