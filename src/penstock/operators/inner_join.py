"""Inner join of any number of inputs, cross joins and self-joins included.

    Δ(R¹ ⋈ … ⋈ Rⁿ)  =  Σᵢ  R¹₀ ⋈ … ⋈ Rⁱ⁻¹₀ ⋈ ΔRⁱ ⋈ Rⁱ⁺¹₁ ⋈ … ⋈ Rⁿ₁          weights multiply

Inputs before the changed one are read at the start of the interval, inputs after it at the end; the sum telescopes to
J₁ − J₀, so it is exact when several inputs change at once. Each term starts at its delta and joins outwards, so that
every step of it stays as small as the change. NULL keys never match: conditions are the query's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.names import WEIGHT, quote
from penstock.operators.consolidate import consolidate
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute, Expression
from penstock.operators.operator import KeyRange, Operator, column_list


@dataclass(frozen=True, slots=True)
class InnerJoin(Operator):
    """Inputs joined by the conjunction of all conditions."""

    inputs: tuple[Operator, ...]
    conditions: tuple[Expression, ...]

    name = "inner join"
    rule = "each changed input joined outwards with the others, before at the start, after at the end"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return tuple(attribute for each in self.inputs for attribute in each.columns)

    @property
    def children(self) -> tuple[Operator, ...]:
        return self.inputs

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        relations = [each.at(query, moment, _for(each, within)) for each in self.inputs]
        return self._joined(query, relations, order=list(range(len(relations))), delta=None)

    def delta(self, query: DeltaQuery) -> str:
        terms = []
        for index, changed in enumerate(self.inputs):
            if not changed.moved(query):
                continue
            relations = [
                changed.delta(query)
                if other == index
                else each.at(query, Moment.BEFORE if other < index else Moment.AFTER)
                for other, each in enumerate(self.inputs)
            ]
            terms.append(self._joined(query, relations, self._outwards(index), delta=index))
        sql = "\n  UNION ALL\n  ".join(f"SELECT {column_list(self.columns, True)} FROM {quote(term)}" for term in terms)
        joined = terms[0] if len(terms) == 1 else query.relation("join", sql, terms)
        return consolidate(query, joined, self.columns) if query.netted else joined

    def _joined(self, query: DeltaQuery, relations: list[str], order: list[int], delta: int | None) -> str:
        weight = f", {quote(relations[delta])}.{quote(WEIGHT)}" if delta is not None else ""
        text = f"SELECT {column_list(self.columns)}{weight}\n  FROM {quote(relations[order[0]])}"
        # A relation that occurs twice (a CTE joined with itself would, were its columns not renamed) keeps one name.
        seen: set[int] = {attribute.id for attribute in self.inputs[order[0]].columns}
        pending = list(self.conditions)
        first = [each for each in pending if each.reads <= seen]
        pending = [each for each in pending if each not in first]
        for index in order[1:]:
            seen |= {attribute.id for attribute in self.inputs[index].columns}
            ready = [each for each in pending if each.reads <= seen]
            pending = [each for each in pending if each not in ready]
            clause = " AND ".join(each.render(self.by_id) for each in ready)
            text += (
                f"\n  JOIN {quote(relations[index])} ON {clause}"
                if ready
                else f"\n  CROSS JOIN {quote(relations[index])}"
            )
        if first:
            text += "\n  WHERE " + " AND ".join(each.render(self.by_id) for each in first)
        return query.relation("join", text, relations)

    def _outwards(self, start: int) -> list[int]:
        """The inputs in an order in which each, where possible, shares a condition with one before it."""
        home = {attribute.id: index for index, each in enumerate(self.inputs) for attribute in each.columns}
        links = [{home[held] for held in condition.reads} for condition in self.conditions]
        order = [start]
        left = [index for index in range(len(self.inputs)) if index != start]
        while left:
            reached = set(order)
            near = [index for index in left if any(index in link and link & reached for link in links)]
            closest = [index for index in near if any(index in link and link <= reached | {index} for link in links)]
            order.append((closest or near or left)[0])
            left.remove(order[-1])
        return order

    def detail(self) -> str:
        return " AND ".join(each.render(self.by_id) for each in self.conditions) or "every pair"


def _for(operator: Operator, within: tuple[KeyRange, ...]) -> tuple[KeyRange, ...]:
    return tuple(each for each in within if each.attribute in operator.by_id)
