"""A change of one row: which, when, and what kind of change.

The event that carries Arrow batches to subscribers is also called `ChangeEvent`, in a module of its own.
Consumers that know nothing of keys and values ignore `kv`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.changes.ring.item_kind import public_item_kind
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.changes.wire.kv_watch_event import KvWatchEvent


# A struct and not a dataclass: polls make these by the thousand, and it is ten times as fast. It holds plain values,
# which cannot form a circle, so the collector need not walk a full ring.
class ChangeEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of the ring."""

    lsn: int
    timestamp: int
    """When the change occurred, in Unix milliseconds."""
    operation: ChangeOperation
    collection: str
    entity_id: int
    """0 if rows of this collection have none."""
    entity_kind: str
    changed_columns: tuple[str, ...] | None = None
    """Of an update: the columns whose value differs, added and removed ones included. None: unknown."""
    kv: KvWatchEvent | None = None

    def rid(self) -> int:
        """The id under its public name."""
        return self.entity_id

    def kind(self) -> str:
        """The public kind."""
        return public_item_kind(self.entity_kind)

    def touches(self, columns: frozenset[str]) -> bool:
        """False only if it is certain that none of these columns changed; such an update can be skipped."""
        return self.changed_columns is None or not columns.isdisjoint(self.changed_columns)

    def to_json_value(self) -> dict[str, Any]:
        """The event as `/changes` sends it."""
        return {
            "collection": self.collection,
            "kind": self.kind(),
            "lsn": self.lsn,
            "operation": self.operation.as_str(),
            "rid": self.entity_id,
            "timestamp": self.timestamp,
        }
