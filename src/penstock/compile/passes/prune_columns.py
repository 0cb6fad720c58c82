"""Read only the columns that something above uses."""

from __future__ import annotations

from dataclasses import replace

from penstock.operators.aggregate import Aggregate
from penstock.operators.clock import Clock
from penstock.operators.constant import Constant
from penstock.operators.filter import Filter
from penstock.operators.generate import Generate
from penstock.operators.inner_join import InnerJoin
from penstock.operators.limit import Limit
from penstock.operators.one_sided_join import OneSidedJoin
from penstock.operators.operator import Operator
from penstock.operators.project import Project
from penstock.operators.scan import Scan
from penstock.operators.union_all import UnionAll
from penstock.operators.window import Window


def prune_columns(operator: Operator, wanted: frozenset[int]) -> Operator:
    """The same rows with at least the wanted columns, and few others."""
    if isinstance(operator, Scan):
        # A row must keep one column to be counted by.
        kept = tuple(each for each in operator.read if each[1].id in wanted) or operator.read[:1]
        return Scan(operator.source, kept)
    if isinstance(operator, Project):
        items = tuple(each for each in operator.items if each[1].id in wanted) or operator.items[:1]
        reads = frozenset(held for expression, _ in items for held in expression.reads)
        return Project(prune_columns(operator.child, reads), items)
    if isinstance(operator, Filter):
        reads = frozenset(held for each in operator.conditions for held in each.reads)
        return Filter(prune_columns(operator.child, wanted | reads), operator.conditions)
    if isinstance(operator, InnerJoin):
        reads = wanted | frozenset(held for each in operator.conditions for held in each.reads)
        return InnerJoin(tuple(prune_columns(each, reads) for each in operator.inputs), operator.conditions)
    if isinstance(operator, Aggregate):
        calls = tuple(each for each in operator.calls if each[1].id in wanted)
        reads = frozenset(held for expression, _ in operator.keys for held in expression.reads)
        reads |= frozenset(held for call, _ in calls for held in call.reads)
        if not operator.keys and not calls:
            calls = operator.calls[:1]
            reads |= frozenset(held for call, _ in calls for held in call.reads)
        return Aggregate(prune_columns(operator.child, reads), operator.keys, calls)
    if isinstance(operator, OneSidedJoin):
        reads = wanted | frozenset(held for each in operator.conditions for held in each.reads)
        left, right = prune_columns(operator.left, reads), prune_columns(operator.right, reads)
        return replace(operator, left=left, right=right)
    if isinstance(operator, Generate):
        return replace(operator, child=prune_columns(operator.child, wanted | operator.generator.reads))
    if isinstance(operator, Window):
        windows = tuple(each for each in operator.calls if each[1].id in wanted)
        reads = frozenset(held for each in operator.partition for held in each.reads) if windows else frozenset()
        reads |= frozenset(held for window, _ in windows for held in window.call.reads)
        child = prune_columns(operator.child, wanted | reads)
        return replace(operator, child=child, calls=windows) if windows else child
    if isinstance(operator, Limit):
        reads = frozenset(held for expression, _ in operator.order for held in expression.reads)
        return replace(operator, child=prune_columns(operator.child, wanted | reads))
    if isinstance(operator, Clock):
        return operator
    if isinstance(operator, Constant):
        return replace(
            operator, read=tuple(each for each in operator.read if each[1].id in wanted) or operator.read[:1]
        )
    assert isinstance(operator, UnionAll)
    places = [index for index, each in enumerate(operator.output) if each.id in wanted] or [0]
    chosen = tuple(tuple(each[index] for index in places) for each in operator.chosen)
    return UnionAll(
        tuple(
            prune_columns(each, frozenset(attribute.id for attribute in taken))
            for each, taken in zip(operator.inputs, chosen, strict=True)
        ),
        chosen,
        tuple(operator.output[index] for index in places),
    )
