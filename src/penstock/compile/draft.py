"""A plan in the making: what the passes know of a query so far. A pass takes a draft and returns the next one."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.compile.bound import BoundQuery, Refused
from penstock.compile.store_groups import top_aggregate
from penstock.compile.stored import Store, StoredColumn
from penstock.operators.aggregate import Aggregate
from penstock.operators.operator import Operator
from penstock.operators.scan import Scan


@dataclass(frozen=True, slots=True)
class Draft:
    """Each field that a pass fills is None before that pass."""

    bound: BoundQuery
    columns: tuple[StoredColumn, ...]
    key: tuple[str, ...]
    """Storage names of the declared key."""
    settings: dict[str, str]
    root: Operator | None = None
    refused: Refused | None = None
    store: Store | None = None

    @property
    def tree(self) -> Operator:
        """The operator tree, which the first pass makes."""
        assert self.root is not None
        return self.root

    @property
    def stored_aggregate(self) -> Aggregate | None:
        """The aggregate whose own rows are stored, if there is one."""
        return None if self.key else top_aggregate(self.tree)

    @property
    def outcome(self) -> str:
        """What the last pass left, in one line, for explain."""
        if self.refused is not None:
            return f"{self.refused.reason}: {self.refused.construct}"
        if self.store is not None:
            return f"stored as {self.store.strategy}"
        nodes = list(self.tree.nodes())
        columns = sum(len(node.columns) for node in nodes if isinstance(node, Scan))
        return f"operators: {len(nodes)}, columns read: {columns}"
