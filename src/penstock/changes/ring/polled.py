"""What a poll found: the changes after a cursor, the next cursor, and how much the reader has missed.

    lost = next_lsn − since_lsn − changes in between

Every LSN that was assigned after the cursor is either in the answer or lost: evicted from the ring, or assigned
before a restart. A reader that has lost something reads the table's own changes instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.ring.run import Run

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Polled:
    """Events, one by one."""

    events: list[ChangeEvent]
    next_lsn: int
    lost: int


@dataclass(frozen=True, slots=True)
class PolledRuns:
    """Changes as the ring holds them: runs by reference, and single events."""

    entries: list[Run | ChangeEvent]
    next_lsn: int
    lost: int


@dataclass(frozen=True, slots=True)
class PolledColumns:
    """Events as columns: lsn, timestamp, operation, collection, kind, entity_id."""

    columns: pa.RecordBatch
    next_lsn: int
    lost: int
