"""Generate: each row with the rows that a generator makes of it; LATERAL VIEW, explode, grouping sets.

Δ(R × g(R))  =  ΔR × g(ΔR)          linear
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute, Expression
from penstock.operators.operator import KeyRange, Operator, column_list


@dataclass(frozen=True, slots=True)
class Generate(Operator):
    """LATERAL VIEW [OUTER]: the child's columns and the generator's."""

    child: Operator
    generator: Expression
    outer: bool
    made: tuple[Attribute, ...]

    name = "generate"
    rule = "linear: the generator on the change rows"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return (*self.child.columns, *self.made)

    @property
    def children(self) -> tuple[Operator, ...]:
        return (self.child,)

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        held = self.child.by_id
        below = tuple(each for each in within if each.attribute in held)
        return self._generated(query, self.child.at(query, moment, below), weighted=False)

    def delta(self, query: DeltaQuery) -> str:
        return self._generated(query, self.child.delta(query), weighted=True)

    def _generated(self, query: DeltaQuery, child: str, weighted: bool) -> str:
        names = ", ".join(each.sql for each in self.made)
        sql = (
            f"SELECT {column_list(self.columns, weighted)} FROM {quote(child)} "
            f"LATERAL VIEW {'OUTER ' if self.outer else ''}{self.generator.render(self.child.by_id)} g AS {names}"
        )
        return query.relation("generate", sql, [child])

    def pruned(self, wanted: frozenset[int]) -> Operator:
        return replace(self, child=self.child.pruned(wanted | self.generator.reads))

    def detail(self) -> str:
        return ("outer " if self.outer else "") + self.generator.render(self.child.by_id)
