"""Explaining a plan: the operator tree with each node's rule, and its statements as Delta SQL that a person can run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.compile.plan import Plan
from penstock.compile.store_groups import top_aggregate
from penstock.names import quote
from penstock.operators.delta_query import Leaf, Step
from penstock.operators.operator import Operator

LeafSql = Callable[[Leaf], str]


def tree_lines(plan: Plan) -> list[str]:
    """The operator tree, one line per node."""
    root = plan.store.root
    if root is None:
        return []
    top = top_aggregate(root) if plan.store.strategy.endswith("groups") else None

    def draw(node: Operator, lead: str, below: str) -> Iterable[str]:
        rule = f"{plan.store.strategy}, against stored rows" if node is top else node.rule
        detail = node.detail()
        yield f"{lead}{node.name} {detail if len(detail) <= 100 else detail[:99] + '…'}"
        yield f"{below}{'│ ' if node.children else '  '}  Δ {rule}"
        for index, child in enumerate(node.children):
            last = index == len(node.children) - 1
            yield from draw(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))

    return list(draw(root, "", ""))


def runnable(step: Step, leaf_sql: LeafSql) -> str:
    """A step's statement with every leaf spelled out."""
    leaves = ",\n".join(f"{quote(leaf.name)} AS (\n  {leaf_sql(leaf)}\n)" for leaf in step.leaves)
    if not leaves:
        return step.sql
    if step.sql.startswith("WITH "):
        return f"WITH {leaves},\n{step.sql[5:]}"
    return f"WITH {leaves}\n{step.sql}"
