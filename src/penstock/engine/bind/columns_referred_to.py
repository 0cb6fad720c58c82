"""The columns of its sources that an analysed plan refers to, for a query that has no operator tree.

A column counts as used if an expression refers to it, if it is in the result, or if DISTINCT or a set operation
compares it. So a star in a subquery uses all its columns, also those that nothing reads afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.engine.spark.catalyst import Catalyst, node_kind
from penstock.operators.source import Source

_BY_ALL_COLUMNS = {"Distinct", "Union", "UnionLoop", "Intersect", "Except"}


def columns_referred_to(
    catalyst: Catalyst, plan: Any, leaves: Iterable[tuple[Source, Any]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Source id → its columns that the plan refers to, for leaves of the plan."""
    used = {_id(each) for each in catalyst.items(plan.output())}

    def visit(node: Any) -> None:
        used.update(_id(each) for each in catalyst.items(node.references().toSeq()))
        if node_kind(node) in _BY_ALL_COLUMNS:
            for child in catalyst.items(node.children()):
                used.update(_id(each) for each in catalyst.items(child.output()))

    catalyst.rewrite(plan, visit)
    found: dict[str, set[str]] = {}
    for source, leaf in leaves:
        names = {source.stored_name(str(each.name())) for each in catalyst.items(leaf.output()) if _id(each) in used}
        found.setdefault(source.id, set()).update(names)
    return tuple((source, tuple(sorted(names))) for source, names in sorted(found.items()))


def _id(attribute: Any) -> int:
    return int(attribute.exprId().id())
