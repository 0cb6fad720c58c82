"""Events delivered together: of one source, and all of one schema.

    start = the first sequence · end = the last sequence + 1

Watermarks and snapshots have no sequence and do not count; without any sequence both bounds are 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Update
from penstock.errors import InvalidChange


@dataclass(frozen=True, slots=True)
class ChangeEventBatch:
    """Events in the order of delivery; `end_sequence` is exclusive."""

    events: tuple[ChangeEvent, ...]
    source: str
    start_sequence: int
    end_sequence: int

    @classmethod
    def new(cls, source: str, events: Iterable[ChangeEvent]) -> ChangeEventBatch:
        """A batch whose bounds come from its events."""
        whole = tuple(events)
        schemas = [batch.schema for event in whole for batch in batches_of(event)]
        if any(not schema.equals(schemas[0]) for schema in schemas):
            raise InvalidChange(
                what=f"a batch of events of {source} with different columns",
                why="the events of a batch share one schema",
                fix="Begin a new batch where the columns change.",
            )
        numbered = [event.sequence for event in whole if event.sequence is not None]
        return cls(whole, source, numbered[0] if numbered else 0, numbered[-1] + 1 if numbered else 0)

    def total_rows(self) -> int:
        """The rows of all events together."""
        return sum(event.row_count() for event in self.events)

    def is_empty(self) -> bool:
        """True if there is no event."""
        return not self.events

    def __len__(self) -> int:
        return len(self.events)


def batches_of(event: ChangeEvent) -> tuple[pa.RecordBatch, ...]:
    """The record batches an event carries: none, one, or the old and the new one."""
    match event:
        case Insert() | Delete() | Snapshot():
            return (event.data,)
        case Update():
            return (event.old, event.new)
    return ()
