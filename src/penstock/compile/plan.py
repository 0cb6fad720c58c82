"""The compiler: bound query → maintenance plan, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.compile.bound import BoundQuery, Refused
from penstock.compile.draft import Draft
from penstock.compile.passes.admit import admit
from penstock.compile.passes.choose_store import choose_store, store_without_rule
from penstock.compile.passes.lower import lower
from penstock.compile.passes.prune_columns import prune_columns
from penstock.compile.stored import Store, StoredColumn, name_columns
from penstock.errors import KeyColumnMissing
from penstock.lang.spelling import nearest

COMPILER = 3
"""Raised whenever the stored layout of an existing definition would come out differently."""

PASSES = (lower, prune_columns, admit, choose_store)
"""The whole compiler; a query that one of them refuses does not reach the next."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is stored and maintained: incrementally, or only in full because of `refused`."""

    bound: BoundQuery
    store: Store
    refused: Refused | None
    passes: tuple[tuple[str, str], ...] = ()
    """The passes that the query went through, each with what it left."""

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
    draft = Draft(bound, columns, _stored_key(bound, columns, key), dict(settings or {}))
    if isinstance(bound.tree, Refused):
        return Plan(bound, store_without_rule(draft), bound.tree)
    done: list[tuple[str, str]] = []
    for each in PASSES:
        draft = each(draft)
        done.append((each.__name__, draft.outcome))
        if draft.refused is not None:
            break
    return Plan(bound, draft.store or store_without_rule(draft), draft.refused, tuple(done))


def _stored_key(bound: BoundQuery, columns: tuple[StoredColumn, ...], key: tuple[str, ...]) -> tuple[str, ...]:
    """Storage names of the key columns, which the query must return."""
    by_name = {column.visible.lower(): column.name for column in columns if column.visible is not None}
    for name in key:
        if name.lower() not in by_name:
            near = nearest(name, by_name)
            meant = f"Did you mean {near}? " if near else ""
            raise KeyColumnMissing(column=name, meant=meant, columns=", ".join(each.name for each in bound.columns))
    return tuple(by_name[name.lower()] for name in key)
