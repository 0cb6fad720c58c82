"""A committed change of one key, as a watcher receives it.

A watcher knows the collection, so it is not written. An absent value and a JSON null are the same on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.changes.wire.canonical_json import canonical_json
from penstock.changes.wire.change_operation import ChangeOperation


@dataclass(frozen=True, slots=True)
class KvWatchEvent:
    """Before and after are JSON values, or None."""

    collection: str
    key: str
    op: ChangeOperation
    before: Any
    after: Any
    lsn: int
    committed_at: int
    """Unix milliseconds."""
    dropped_event_count: int = 0
    """Events that this watcher has missed so far."""

    def to_json_value(self) -> dict[str, Any]:
        """The event as plain data."""
        return {
            "after": self.after,
            "before": self.before,
            "committed_at": self.committed_at,
            "dropped_event_count": self.dropped_event_count,
            "key": self.key,
            "lsn": self.lsn,
            "op": self.op.as_str(),
        }

    def encode(self) -> bytes:
        """The event as JSON."""
        return canonical_json(self.to_json_value())

    def sse_frame(self) -> bytes:
        """The event as one frame of `text/event-stream`; JSON has no bare line ends, so one data line is enough."""
        return b"event: kv\ndata: " + self.encode() + b"\n\n"
