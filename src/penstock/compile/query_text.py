"""The text of a bound query: SQL that Spark binds to the same tree.

    bind(text(q))  ≡  q

A stream table is defined by text, so that any process can read it again. For a query made of DataFrame calls, the
operator tree writes that text over the tables by name.
"""

from __future__ import annotations

from penstock.compile.bound import BoundQuery, Refused
from penstock.compile.explain import runnable
from penstock.compile.passes.lower import operator_tree
from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Leaf, LeafKind, Moment


def query_text(bound: BoundQuery) -> str:
    """SQL for a query that has a bound tree."""
    assert not isinstance(bound.tree, Refused)
    root = operator_tree(bound.tree).pruned(frozenset(attribute.id for attribute in bound.columns))
    query = DeltaQuery(moved=frozenset())
    rows = root.at(query, Moment.AFTER)
    items = ", ".join(f"{attribute.sql} AS {quote(attribute.name)}" for attribute in bound.columns)
    return runnable(query.statement("query", f"SELECT {items} FROM {quote(rows)}", [rows], ""), _leaf)


def _leaf(leaf: Leaf) -> str:
    if leaf.kind is LeafKind.CLOCK:
        return f"SELECT current_timestamp() AS {quote(leaf.columns[0])}"
    assert leaf.source is not None
    visible = {stored: column for column, stored in leaf.source.stored_names}
    items = [
        quote(name) if name not in visible else f"{quote(visible[name])} AS {quote(name)}" for name in leaf.columns
    ]
    return f"SELECT {', '.join(items)} FROM {leaf.source.name}"
