"""Constant rows: VALUES, range, a SELECT without FROM.

Δ  =  0
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute
from penstock.operators.operator import KeyRange, Operator, select_list


@dataclass(frozen=True, slots=True)
class Constant(Operator):
    """A relation that no table feeds: SQL text, and the name that each column has in it."""

    relation: str
    read: tuple[tuple[str, Attribute], ...]

    name = "constant"
    rule = "never changes"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return tuple(attribute for _, attribute in self.read)

    @property
    def children(self) -> tuple[Operator, ...]:
        return ()

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        return query.relation("constant", f"SELECT {select_list(self.read)} FROM {self.relation}", [])

    def delta(self, query: DeltaQuery) -> str:
        raise AssertionError("constant rows have no delta")

    def pruned(self, wanted: frozenset[int]) -> Operator:
        return replace(self, read=tuple(each for each in self.read if each[1].id in wanted) or self.read[:1])

    def detail(self) -> str:
        return self.relation
