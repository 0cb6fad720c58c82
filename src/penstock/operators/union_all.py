"""UNION ALL, by position.

Δ(R + S)  =  ΔR + ΔS
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute
from penstock.operators.operator import KeyRange, Operator, select_list


@dataclass(frozen=True, slots=True)
class UnionAll(Operator):
    """Inputs with the same number of columns; `chosen` names, per input, the column of each position."""

    inputs: tuple[Operator, ...]
    chosen: tuple[tuple[Attribute, ...], ...]
    output: tuple[Attribute, ...]

    name = "union all"
    rule = "the sum of the inputs' deltas"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return self.output

    @property
    def children(self) -> tuple[Operator, ...]:
        return self.inputs

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        relations = []
        for each, chosen in zip(self.inputs, self.chosen, strict=True):
            below = {above.id: attribute.id for above, attribute in zip(self.output, chosen, strict=True)}
            ranges = tuple(KeyRange(below[held.attribute], held.step, held.collected) for held in within)
            relations.append(each.at(query, moment, ranges))
        return self._sum(query, list(zip(relations, self.chosen, strict=True)), weighted=False)

    def delta(self, query: DeltaQuery) -> str:
        moved = [
            (each.delta(query), chosen)
            for each, chosen in zip(self.inputs, self.chosen, strict=True)
            if each.moved(query)
        ]
        return self._sum(query, moved, weighted=True)

    def pruned(self, wanted: frozenset[int]) -> Operator:
        places = [index for index, each in enumerate(self.output) if each.id in wanted] or [0]
        chosen = tuple(tuple(each[index] for index in places) for each in self.chosen)
        inputs = tuple(
            each.pruned(frozenset(attribute.id for attribute in taken))
            for each, taken in zip(self.inputs, chosen, strict=True)
        )
        return UnionAll(inputs, chosen, tuple(self.output[index] for index in places))

    def _sum(self, query: DeltaQuery, branches: list[tuple[str, tuple[Attribute, ...]]], weighted: bool) -> str:
        selects = [f"SELECT {self._renamed(chosen, weighted)} FROM {quote(relation)}" for relation, chosen in branches]
        sql = "\n  UNION ALL\n  ".join(selects)
        return query.relation("union", sql, [relation for relation, _ in branches])

    def _renamed(self, chosen: tuple[Attribute, ...], weighted: bool) -> str:
        return select_list(((each.sql, column) for each, column in zip(chosen, self.output, strict=True)), weighted)

    def detail(self) -> str:
        return f"{len(self.inputs)} inputs"
