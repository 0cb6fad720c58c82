"""Read only the columns that something above uses. Each operator says itself what it needs: `Operator.pruned`."""

from __future__ import annotations

from dataclasses import replace

from penstock.compile.draft import Draft
from penstock.operators.expression import Expression
from penstock.operators.operator import Operator
from penstock.operators.project import Project


def prune_columns(draft: Draft) -> Draft:
    """The tree with the result columns of the query and with no other column that nothing reads."""
    wanted = {attribute.id: attribute for attribute in draft.bound.columns}
    root: Operator = draft.tree.pruned(frozenset(wanted))
    shown = tuple(each.id for each in draft.bound.columns)
    if not isinstance(root, Project) and tuple(each.id for each in root.columns) != shown:
        root = Project(
            root, tuple((Expression((each.id,), each.type, each.nullable), each) for each in wanted.values())
        )
    return replace(draft, root=root)
