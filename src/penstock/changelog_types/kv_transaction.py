"""Changes of keys that wait for their transaction: a commit emits them in one go, a rollback forgets them.

LSN and time are those of the commit, so watchers see nothing that was not committed, and nothing out of order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock.changes.ring.kv_change import KvChange
from penstock.changes.wire.change_operation import ChangeOperation

if TYPE_CHECKING:
    from penstock.changes.ring.cdc_buffer import CdcBuffer


@dataclass
class KvTransaction:
    """As a context it commits at the end, or rolls back on an exception."""

    ring: CdcBuffer
    staged: list[KvChange] = field(default_factory=list)

    def emit_kv(self, operation: ChangeOperation, collection: str, key: str, before: Any, after: Any) -> None:
        """Hold a change until the commit."""
        self.staged.append(KvChange(operation, collection, key, before, after))

    def commit(self) -> range:
        """Emit what was held; the answer is the LSNs."""
        held, self.staged = self.staged, []
        return self.ring.emit_kv_changes(held)

    def rollback(self) -> None:
        """Forget what was held; no LSN is used up."""
        self.staged = []

    def __enter__(self) -> KvTransaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()
