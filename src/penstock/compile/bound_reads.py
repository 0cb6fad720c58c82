"""What a bound tree reads and returns: its scans, their sources, the columns that expressions use."""

from __future__ import annotations

from collections.abc import Iterator

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
)
from penstock.operators.expression import Attribute


def _children(tree: Bound) -> tuple[Bound, ...]:
    if isinstance(tree, BoundScan | BoundConstant | BoundClock):
        return ()
    if isinstance(tree, BoundJoin):
        return (tree.left, tree.right)
    if isinstance(tree, BoundUnion):
        return tree.children
    return (tree.child,)


def scans_of(tree: Bound) -> Iterator[BoundScan]:
    """Every scan in the tree."""
    if isinstance(tree, BoundScan):
        yield tree
    for child in _children(tree):
        yield from scans_of(child)


def sources_of(tree: Bound) -> set[str]:
    """Ids of the sources that the tree reads; a CTE that is never used reads none."""
    return {scan.source.id for scan in scans_of(tree)}


def output_of(tree: Bound) -> tuple[Attribute, ...]:
    """The columns of the tree's rows."""
    if isinstance(tree, BoundScan | BoundConstant):
        return tuple(attribute for _, attribute in tree.columns)
    if isinstance(tree, BoundClock):
        return (tree.now,)
    if isinstance(tree, BoundProject):
        return tuple(attribute for _, attribute in tree.items)
    if isinstance(tree, BoundAggregate):
        return tuple(attribute for _, attribute in (*tree.keys, *tree.calls))
    if isinstance(tree, BoundUnion):
        return tree.columns
    if isinstance(tree, BoundJoin):
        if tree.kind in {JoinKind.SEMI, JoinKind.ANTI, JoinKind.EXISTENCE}:
            return (*output_of(tree.left), *(() if tree.exists is None else (tree.exists,)))
        return (*output_of(tree.left), *output_of(tree.right))
    if isinstance(tree, BoundGenerate):
        return (*output_of(tree.child), *tree.made)
    if isinstance(tree, BoundWindow):
        return (*output_of(tree.child), *(attribute for _, attribute in tree.calls))
    return output_of(tree.child)


def reads_of(tree: Bound) -> set[int]:
    """Ids of the columns that some expression in the tree uses."""
    found: set[int] = set()
    if isinstance(tree, BoundProject):
        found |= {each for expression, _ in tree.items for each in expression.reads}
    elif isinstance(tree, BoundFilter | BoundJoin):
        found |= {each for condition in tree.conditions for each in condition.reads}
    elif isinstance(tree, BoundAggregate):
        found |= {each for expression, _ in tree.keys for each in expression.reads}
        found |= {each for call, _ in tree.calls for each in call.reads}
    elif isinstance(tree, BoundGenerate):
        found |= tree.generator.reads
    elif isinstance(tree, BoundWindow):
        found |= {each for expression in tree.partition for each in expression.reads}
        found |= {each for call, _ in tree.calls for each in call.call.reads}
    elif isinstance(tree, BoundLimit):
        found |= {each for expression, _ in tree.order for each in expression.reads}
    elif isinstance(tree, BoundDistinct):
        found |= {attribute.id for attribute in output_of(tree.child)}
    elif isinstance(tree, BoundUnion):
        found |= {attribute.id for child in tree.inputs for attribute in child}
    for child in _children(tree):
        found |= reads_of(child)
    return found
