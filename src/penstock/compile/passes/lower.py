"""Lowering: bound tree → operator tree.

Inner joins are flattened, DISTINCT becomes a group by, mere column choices go. A right outer join is a left outer join
turned round; a full outer join is a left outer join and, padded, the right rows that match nothing.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.compile.bound import (
    Bound,
    BoundAggregate,
    BoundClock,
    BoundConstant,
    BoundDistinct,
    BoundFilter,
    BoundGenerate,
    BoundJoin,
    BoundLimit,
    BoundProject,
    BoundScan,
    BoundUnion,
    BoundWindow,
    JoinKind,
    Refused,
)
from penstock.compile.draft import Draft
from penstock.operators.aggregate import Aggregate
from penstock.operators.clock import Clock
from penstock.operators.constant import Constant
from penstock.operators.expression import Attribute, Expression
from penstock.operators.filter import Filter
from penstock.operators.generate import Generate
from penstock.operators.inner_join import InnerJoin
from penstock.operators.limit import Limit
from penstock.operators.one_sided_join import Keeps, OneSidedJoin
from penstock.operators.operator import Operator
from penstock.operators.project import Project
from penstock.operators.scan import Scan
from penstock.operators.union_all import UnionAll
from penstock.operators.window import Window


def lower(draft: Draft) -> Draft:
    """The draft with the operator tree of its query."""
    assert not isinstance(draft.bound.tree, Refused)
    return replace(draft, root=operator_tree(draft.bound.tree))


def operator_tree(bound: Bound) -> Operator:
    """The operator tree of a bound tree."""
    match bound:
        case BoundScan(source, columns):
            return Scan(source, columns)
        case BoundConstant(relation, columns):
            return Constant(relation, columns)
        case BoundClock(now):
            return Clock(now)
        case BoundProject(child, items):
            return Project(operator_tree(child), _unique(items))
        case BoundFilter(child, conditions):
            below = operator_tree(child)
            if isinstance(below, InnerJoin):
                return InnerJoin(below.inputs, (*below.conditions, *conditions))
            return Filter(below, conditions)
        case BoundJoin():
            return _join(bound)
        case BoundAggregate(child, keys, calls):
            return Aggregate(operator_tree(child), _unique(keys), calls)
        case BoundDistinct(child):
            below = operator_tree(child)
            return Aggregate(below, _unique(tuple((_read(each), each) for each in below.columns)), ())
        case BoundUnion(branches, columns, inputs):
            return UnionAll(tuple(map(operator_tree, branches)), inputs, columns)
        case BoundGenerate(child, generator, outer, made):
            return Generate(operator_tree(child), generator, outer, made)
        case BoundWindow(child, partition, calls):
            return Window(operator_tree(child), partition, calls)
        case BoundLimit(child, order, limit, offset):
            return Limit(operator_tree(child), order, limit, offset)


def _join(bound: BoundJoin) -> Operator:
    left, right = operator_tree(bound.left), operator_tree(bound.right)
    if bound.kind is JoinKind.INNER:
        one, other = _join_input(left), _join_input(right)
        if any(each.id in one.by_id for each in other.columns):
            # A relation that occurs on both sides: what its own projection leaves out must stay out.
            one, other = InnerJoin((left,), ()), InnerJoin((right,), ())
        return InnerJoin((*one.inputs, *other.inputs), (*one.conditions, *other.conditions, *bound.conditions))
    if bound.kind is JoinKind.RIGHT:
        return OneSidedJoin(right, left, bound.conditions, Keeps.OUTER)
    if bound.kind is not JoinKind.FULL:
        return OneSidedJoin(left, right, bound.conditions, _KEEPS[bound.kind], bound.exists)
    matched = OneSidedJoin(left, right, bound.conditions, Keeps.OUTER)
    lonely = OneSidedJoin(right, left, bound.conditions, Keeps.ANTI)
    padding = tuple((Expression((f"CAST(NULL AS {each.type})",), each.type, True), each) for each in left.columns)
    padded = Project(lonely, (*padding, *((_read(each), each) for each in right.columns)))
    return UnionAll((matched, padded), (matched.columns, matched.columns), matched.columns)


_KEEPS = {
    JoinKind.LEFT: Keeps.OUTER,
    JoinKind.SEMI: Keeps.SEMI,
    JoinKind.ANTI: Keeps.ANTI,
    JoinKind.EXISTENCE: Keeps.EXISTENCE,
}


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
