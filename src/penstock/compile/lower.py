"""Lowering: bound tree → operator tree. Joins are flattened, DISTINCT becomes a group by, mere column choices go."""

from __future__ import annotations

from penstock.compile.bound import (
    Bound,
    BoundAggregate,
    BoundDistinct,
    BoundFilter,
    BoundJoin,
    BoundProject,
    BoundScan,
)
from penstock.operators.aggregate import Aggregate
from penstock.operators.expression import Attribute, Expression
from penstock.operators.filter import Filter
from penstock.operators.inner_join import InnerJoin
from penstock.operators.operator import Operator
from penstock.operators.project import Project
from penstock.operators.scan import Scan
from penstock.operators.union_all import UnionAll


def lower(bound: Bound) -> Operator:
    """The operator tree of a bound tree."""
    if isinstance(bound, BoundScan):
        return Scan(bound.source, bound.columns)
    if isinstance(bound, BoundProject):
        return Project(lower(bound.child), _unique(bound.items))
    if isinstance(bound, BoundFilter):
        child = lower(bound.child)
        if isinstance(child, InnerJoin):
            return InnerJoin(child.inputs, (*child.conditions, *bound.conditions))
        return Filter(child, bound.conditions)
    if isinstance(bound, BoundJoin):
        left, right = _join_input(lower(bound.left)), _join_input(lower(bound.right))
        return InnerJoin((*left.inputs, *right.inputs), (*left.conditions, *right.conditions, *bound.conditions))
    if isinstance(bound, BoundAggregate):
        return Aggregate(lower(bound.child), _unique(bound.keys), bound.calls)
    if isinstance(bound, BoundDistinct):
        child = lower(bound.child)
        return Aggregate(child, _unique(tuple((_read(each), each) for each in child.columns)), ())
    return UnionAll(tuple(lower(child) for child in bound.children), bound.inputs, bound.columns)


def _join_input(operator: Operator) -> InnerJoin:
    """The operator as a join, of itself alone if need be. A choice of columns that renames nothing is dropped."""
    inner = operator
    while isinstance(inner, Project) and all(item.attribute == attribute.id for item, attribute in inner.items):
        inner = inner.child
    if isinstance(inner, InnerJoin):
        return inner
    return InnerJoin((inner,), ())


def _unique(items: tuple[tuple[Expression, Attribute], ...]) -> tuple[tuple[Expression, Attribute], ...]:
    """One item per attribute: a column that is selected twice is still one column."""
    return tuple({attribute.id: (expression, attribute) for expression, attribute in items}.values())


def _read(attribute: Attribute) -> Expression:
    return Expression((attribute.id,), attribute.type, attribute.nullable)
