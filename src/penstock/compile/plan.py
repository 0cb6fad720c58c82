"""The compiler: bound query → maintenance plan, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.compile.bound import BoundQuery, Refused
from penstock.compile.lower import lower
from penstock.compile.passes.admit import admit, admit_result
from penstock.compile.passes.prune_columns import prune_columns
from penstock.compile.store_bag import BagStore
from penstock.compile.store_first_groups import FirstGroupsStore, first_groups
from penstock.compile.store_groups import GroupStore, top_aggregate
from penstock.compile.store_keyed import KeyedStore
from penstock.compile.store_top import TopStore, top_limit
from penstock.compile.stored import Store, StoredColumn, name_columns
from penstock.errors import KeyColumnMissing
from penstock.lang.near import nearest
from penstock.operators.delta_query import DeltaQuery, LeafKind
from penstock.operators.expression import Expression
from penstock.operators.operator import Operator
from penstock.operators.project import Project

COMPILER = 3
"""Raised whenever the stored layout of an existing definition would come out differently."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is stored and maintained: incrementally, or only in full because of `refused`."""

    bound: BoundQuery
    store: Store
    refused: Refused | None

    @property
    def incremental(self) -> bool:
        """True if the query has a local delta rule."""
        return self.refused is None

    @property
    def operators(self) -> tuple[str, ...]:
        """The kinds of operators that the query consists of, and how its result is stored."""
        root = self.store.root
        return tuple(sorted({node.name for node in root.nodes()} | {self.store.strategy}) if root is not None else ())


def compile_query(bound: BoundQuery, key: tuple[str, ...] = (), settings: Mapping[str, str] | None = None) -> Plan:
    """Compile a query. Names and types that cannot be stored are errors; shapes without a rule are not."""
    columns = name_columns(bound.columns)
    by_name = {column.visible.lower(): column.name for column in columns if column.visible is not None}
    for name in key:
        if name.lower() not in by_name:
            near = nearest(name, by_name)
            meant = f"Did you mean {near}? " if near else ""
            raise KeyColumnMissing(column=name, meant=meant, columns=", ".join(each.name for each in bound.columns))
    stored_key = tuple(by_name[name.lower()] for name in key)
    if isinstance(bound.tree, Refused):
        return Plan(bound, _rootless(bound, columns, stored_key), bound.tree)
    root = _pruned(lower(bound.tree), bound)
    top = None if key else top_aggregate(root)
    refused = admit(root, top) or (None if top is not None else admit_result(bound.columns))
    if refused is not None:
        return Plan(bound, _rootless(bound, columns, stored_key), refused)
    store: Store
    if first_groups(root) and not stored_key:
        store = FirstGroupsStore(root, bound.columns, columns, dict(settings or {}))
    elif top_limit(root) is not None and not stored_key:
        store = TopStore(root, bound.columns, columns)
    elif top is not None:
        store = GroupStore(root, bound.columns, columns, dict(settings or {}))
    elif stored_key:
        store = KeyedStore(root, bound.columns, columns, stored_key)
    else:
        store = BagStore(root, bound.columns, columns)
    _check_every_source(store, root)
    return Plan(bound, store, None)


def _rootless(bound: BoundQuery, columns: tuple[StoredColumn, ...], key: tuple[str, ...]) -> Store:
    return KeyedStore(None, bound.columns, columns, key) if key else BagStore(None, bound.columns, columns)


def _pruned(root: Operator, bound: BoundQuery) -> Operator:
    wanted = frozenset(attribute.id for attribute in bound.columns)
    pruned = prune_columns(root, wanted)
    if isinstance(pruned, Project) or tuple(each.id for each in pruned.columns) == tuple(
        each.id for each in bound.columns
    ):
        return pruned
    items = tuple(
        (Expression((each.id,), each.type, each.nullable), each)
        for each in {attribute.id: attribute for attribute in bound.columns}.values()
    )
    return Project(pruned, items)


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
