"""Project: a select list.

Δ(π R)  =  π ΔR          linear, for deterministic expressions only
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Attribute, Expression, columns_read
from penstock.operators.operator import KeyRange, Operator, follow, select_list


@dataclass(frozen=True, slots=True)
class Project(Operator):
    """Expressions over the child's columns."""

    child: Operator
    items: tuple[tuple[Expression, Attribute], ...]

    name = "project"
    rule = "linear: the expressions on the change rows"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return tuple(attribute for _, attribute in self.items)

    @property
    def children(self) -> tuple[Operator, ...]:
        return (self.child,)

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        return self._projected(query, self.child.at(query, moment, follow(within, self.items)), weighted=False)

    def delta(self, query: DeltaQuery) -> str:
        return self._projected(query, self.child.delta(query), weighted=True)

    def _projected(self, query: DeltaQuery, child: str, weighted: bool) -> str:
        items = select_list(
            ((expression.render(self.child.by_id), attribute) for expression, attribute in self.items), weighted
        )
        rows = query.plain(child)
        bare = [(expression.attribute, attribute) for expression, attribute in self.items]
        named = ((self.child.by_id[held].column if held is not None else "", each.column) for held, each in bare)
        return query.relation("project", f"SELECT {items} FROM {quote(child)}", [child], rows and rows.named(named))

    def pruned(self, wanted: frozenset[int]) -> Operator:
        items = tuple(each for each in self.items if each[1].id in wanted) or self.items[:1]
        return Project(self.child.pruned(columns_read(*(expression for expression, _ in items))), items)

    def detail(self) -> str:
        return ", ".join(
            f"{expression.render(self.child.by_id)} AS {attribute.name}"
            if expression.attribute is None
            else attribute.name
            for expression, attribute in self.items
        )
