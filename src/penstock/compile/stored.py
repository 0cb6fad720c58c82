"""Stored rows: which columns a stream table's storage has, and the programs that fill and change it.

A program is a list of statements. The last one yields rows of storage columns with an operation; the operations are the
whole language between compiler and applier:

    i   a physical row to add (bags)          d   take away the row of this key, or all physical rows of this value
    u   the complete new row of this key      ?   this key must be recomputed      !   stored rows contradict the delta
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import UnstorableColumn
from penstock.names import HIDDEN, WEIGHT
from penstock.operators.delta_query import STORED, DeltaQuery, Leaf, LeafKind, Moment, Step, Within
from penstock.operators.expression import Attribute
from penstock.operators.operator import Operator
from penstock.operators.types import rangeable

OP = "__ps_op"
PLUS = "__ps_plus"
"""How many visible rows this change adds."""
MINUS = "__ps_minus"
"""How many visible rows this change takes away."""
SHOWN = "__ps_shown"
COUNT = "__ps_count"
STALE = "__ps_stale"
THERE = "__ps_there"

_RENAME = "Give it another name with AS."
_FORBIDDEN = set(" ,;{}()\n\t=`")
"""Characters that Delta refuses in a column name, and the backtick, on which its MERGE fails."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One column of the storage; `visible` is its name for users, None if it is hidden."""

    name: str
    type: str
    visible: str | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What a change amounts to, without its rows."""

    rows: int
    operations: frozenset[str]
    least_weight: int | None
    inserted: int
    deleted: int
    updated: int
    """How many of the rows that come take the place of one that goes."""

    @classmethod
    def of(cls, rows: pa.Table) -> Summary:
        """Summarise collected rows."""
        named = set(rows.column_names)

        def total(column: str) -> int:
            return int(pc.sum(rows.column(column)).as_py() or 0) if column in named else 0

        both = pc.min_element_wise(rows.column(PLUS), rows.column(MINUS)) if {PLUS, MINUS} <= named else None

        return cls(
            rows=rows.num_rows,
            operations=frozenset(pc.unique(rows.column(OP)).to_pylist()) if OP in named else frozenset(),
            least_weight=pc.min(rows.column(WEIGHT)).as_py() if WEIGHT in named and rows.num_rows else None,
            inserted=total(PLUS),
            deleted=total(MINUS),
            updated=0 if both is None else int(pc.sum(both).as_py() or 0),
        )


class Store(ABC):
    """What is stored for a query and how it is maintained. `root` is None for a query without delta rule."""

    root: Operator | None
    columns: tuple[StoredColumn, ...]
    key: tuple[str, ...] | None
    """Storage columns that identify a row; () for the one row of a global aggregate; None for a bag."""
    strategy: str
    finish_replaces: bool
    """True if the rows of `finish` stand instead of those of `change`, and not beside them."""
    difference_is_complete: bool = True
    """True if the rows of `difference` need no `finish`."""

    @abstractmethod
    def fill(self, query: DeltaQuery, moment: Moment) -> Step:
        """The complete stored rows at a moment."""

    @abstractmethod
    def change(self, query: DeltaQuery) -> Step:
        """The statement after `query.steps` that yields the change."""

    @abstractmethod
    def finish(self, query: DeltaQuery, change: Summary, phase: int = 0) -> Step | None:
        """One more statement, if what `change` sums up leaves something open; it reads the rows as `CHANGED`.

        The caller asks again with the next phase and the summary of its rows, until this returns None.
        """

    @abstractmethod
    def difference(self, query: DeltaQuery, fresh: str) -> Step:
        """The change that turns the stored rows into those of the leaf `fresh`, which has the storage columns."""

    @property
    def weighted(self) -> bool:
        """True if a physical row stands for `__ps_weight` rows."""
        return self.key is None

    @property
    def has_hidden_rows(self) -> bool:
        """True if some stored rows are not shown."""
        return any(column.name == SHOWN for column in self.columns)


CHANGED = f"{HIDDEN}changed"


def stored_leaf(query: DeltaQuery, store: Store, within: Iterable[Within] = ()) -> str:
    """The stored rows as a leaf; rows outside `within` may be left out."""
    types = {column.name: column.type for column in store.columns}
    ranges = tuple(each for each in within if rangeable(types[each.column]))
    taken = any(leaf.name == STORED and leaf.within != ranges for leaf in query.leaves)
    name = query.fresh_leaf_name("stored", "within") if taken else STORED
    return query.leaf(Leaf(name, LeafKind.STORED, tuple(types), within=ranges))


def collected_leaf(query: DeltaQuery, name: str, columns: tuple[str, ...]) -> str:
    """Rows that the caller collected."""
    return query.leaf(Leaf(name, LeafKind.COLLECTED, columns))


def name_columns(visible: tuple[Attribute, ...]) -> tuple[StoredColumn, ...]:
    """Storage names for the result columns; refuses what a table cannot hold.

    A name with characters that Delta refuses, such as `sum(amount)`, is stored under a plain one.
    """
    taken: dict[str, str] = {}
    columns = []
    for index, attribute in enumerate(visible):
        lowered = attribute.name.lower()
        if lowered in taken:
            why = f"another result column is called {taken[lowered]}"
            raise UnstorableColumn(column=attribute.name, why=why, fix=_RENAME)
        if lowered.startswith(HIDDEN):
            why = f"names that start with {HIDDEN} are reserved"
            raise UnstorableColumn(column=attribute.name, why=why, fix=_RENAME)
        if attribute.type in {"VOID", "INTERVAL"} or "INTERVAL" in attribute.type or "VOID" in attribute.type:
            why = f"a Delta table cannot hold the type {attribute.type}"
            raise UnstorableColumn(column=attribute.name, why=why, fix="Cast it to a type that a table can hold.")
        taken[lowered] = attribute.name
        plain = attribute.name if attribute.name and not (set(attribute.name) & _FORBIDDEN) else f"c{index + 1}"
        columns.append(StoredColumn(plain, attribute.type, attribute.name))
    names = [column.name.lower() for column in columns]
    return tuple(
        StoredColumn(f"{column.name}_{index + 1}", column.type, column.visible)
        if column.name != column.visible and names.count(column.name.lower()) > 1
        else column
        for index, column in enumerate(columns)
    )
