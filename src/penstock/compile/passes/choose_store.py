"""Choose how result rows are stored: the most special store that fits the top of the tree."""

from __future__ import annotations

from dataclasses import replace

from penstock.compile.draft import Draft
from penstock.compile.store_bag import BagStore
from penstock.compile.store_first_groups import FirstGroupsStore, first_groups
from penstock.compile.store_groups import GroupStore
from penstock.compile.store_keyed import KeyedStore
from penstock.compile.store_top import TopStore, top_limit
from penstock.compile.stored import Store
from penstock.operators.delta_query import DeltaQuery, LeafKind
from penstock.operators.operator import Operator


def choose_store(draft: Draft) -> Draft:
    """The draft with its store."""
    store = _store(draft)
    _check_every_source(store, draft.tree)
    return replace(draft, store=store)


def store_without_rule(draft: Draft) -> Store:
    """The store of a query that has no delta rule, so that every refresh computes it in full."""
    shown, columns = draft.bound.columns, draft.columns
    return KeyedStore(None, shown, columns, draft.key) if draft.key else BagStore(None, shown, columns)


def _store(draft: Draft) -> Store:
    root, shown, columns = draft.tree, draft.bound.columns, draft.columns
    if draft.key:
        return KeyedStore(root, shown, columns, draft.key)
    if first_groups(root):
        return FirstGroupsStore(root, shown, columns, draft.settings)
    if top_limit(root) is not None:
        return TopStore(root, shown, columns)
    if draft.stored_aggregate is not None:
        return GroupStore(root, shown, columns, draft.settings)
    return BagStore(root, shown, columns)


def _check_every_source(store: Store, root: Operator) -> None:
    """A delta that forgets a source would be silently wrong, so each must occur before any is left out."""
    query = DeltaQuery(moved=frozenset(source.id for source in root.sources))
    if not root.moved(query):
        # Constants alone: there is no delta.
        return
    last = store.change(query)
    seen = {
        leaf.source.id
        for step in (*query.steps, last)
        for leaf in step.leaves
        if leaf.kind is LeafKind.CHANGES and leaf.source is not None
    }
    # An operator that reads its whole input at both ends needs no change rows.
    seen |= {source.id for node in root.nodes() if node.whole for source in node.sources}
    missing = {source.name for source in root.sources if source.id not in seen}
    assert not missing, f"the delta does not read the changes of {sorted(missing)}"
