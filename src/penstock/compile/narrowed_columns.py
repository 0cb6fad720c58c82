"""The columns by which a stream table's deltas find rows in the tables they read, and in its own storage.

The store writes its program as if every column of every source were sorted. Where the program then narrows a leaf, a
source sorted by that column would spare it reading. Each source is taken to change alone, as sources mostly do.
"""

from __future__ import annotations

from collections import Counter

from penstock.compile.plan import Plan
from penstock.compile.stored import Summary
from penstock.operators.delta_query import STORED, DeltaQuery, LeafKind


class _Everything:
    """Every (source, column) pair."""

    def __contains__(self, pair: object) -> bool:
        return True


_OPEN = Summary(rows=1, operations=frozenset({"?"}), least_weight=-1, inserted=0, deleted=0, updated=0)
"""A change that leaves everything open: rows taken back, groups to be recomputed."""


def narrowed_columns(plan: Plan) -> Counter[tuple[str, str]]:
    """(source id, or STORED, and column) → how many reads are narrowed by it, over the programs of all sources."""
    found: Counter[tuple[str, str]] = Counter()
    if plan.store.root is None:
        return found
    for moved in sorted(source.id for source in plan.bound.sources):
        query = DeltaQuery(moved=frozenset({moved}), prunable=_Everything())
        steps = [plan.store.change(query)]
        if (finish := plan.store.finish(query, _OPEN)) is not None:
            steps.append(finish)
        leaves = {leaf.name: leaf for step in (*query.steps, *steps) for leaf in step.leaves}
        for leaf in leaves.values():
            for column in {each.column for each in leaf.within}:
                if leaf.kind is LeafKind.STORED:
                    found[STORED, column] += 1
                elif leaf.source is not None:
                    found[leaf.source.id, column] += 1
    return found
