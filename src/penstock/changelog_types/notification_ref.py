"""News of a batch without the batch: 64 bytes, one cache line, copied by value.

    sequence u64 at 0 · source_id u32 at 8 · event_type u8 at 12 · row_count u32 at 16 · timestamp i64 at 24 ·
    batch_offset u64 at 32 · zeros to 64

Many are one NumPy array of `DTYPE`, aligned to 64 bytes; `NotificationRef` is a single one. It is all that a producer
hands to the thread that delivers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.changes.wire.event_type import EventType
from penstock.errors import InvalidChange, UnreadableChange

DTYPE = np.dtype(
    {
        "names": ["sequence", "source_id", "event_type", "row_count", "timestamp", "batch_offset"],
        "formats": ["<u8", "<u4", "u1", "<u4", "<i8", "<u8"],
        "offsets": [0, 8, 12, 16, 24, 32],
        "itemsize": 64,
    }
)


@dataclass(frozen=True, slots=True)
class NotificationRef:
    """One notification; `timestamp` is milliseconds since 1970, `batch_offset` the batch's place with its source."""

    sequence: int
    source_id: int
    event_type: EventType
    row_count: int
    timestamp: int
    batch_offset: int

    def __post_init__(self) -> None:
        unsigned = (self.sequence | self.batch_offset) >> 64 | (self.source_id | self.row_count) >> 32
        if unsigned or not -(2**63) <= self.timestamp < 2**63:
            raise InvalidChange(
                what=f"the notification {self.to_row()}",
                why="sequence and offset have 64 bits, source and row count 32, none of them a sign",
                fix="Number sources and batches from 0, and split larger batches.",
            )

    def to_row(self) -> tuple[int, int, int, int, int, int]:
        """The notification as it is assigned to a place of an array."""
        return (
            self.sequence,
            self.source_id,
            self.event_type.value,
            self.row_count,
            self.timestamp,
            self.batch_offset,
        )


def aligned(count: int) -> npt.NDArray[np.void]:
    """Room for that many notifications, zeroed, each on a cache line of its own."""
    raw = np.zeros(count * 64 + 63, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * 64].view(DTYPE)


def notifications(
    first_sequence: int,
    source_id: int,
    event_type: EventType,
    row_counts: npt.NDArray[np.uint32],
    timestamp: int,
    batch_offsets: npt.NDArray[np.uint64],
) -> npt.NDArray[np.void]:
    """Notifications of consecutive batches of one source: sequences follow one another from the first."""
    made = aligned(len(row_counts))
    write_notifications(made, first_sequence, source_id, event_type, row_counts, timestamp, batch_offsets)
    return made


def write_notifications(
    room: npt.NDArray[np.void],
    first_sequence: int,
    source_id: int,
    event_type: EventType,
    row_counts: npt.NDArray[np.uint32],
    timestamp: int,
    batch_offsets: npt.NDArray[np.uint64],
) -> None:
    """The same into room that is there already (`aligned`), so that nothing is allocated per notification."""
    last = first_sequence + max(len(room) - 1, 0)
    # The fields that are one value for all are checked as one notification.
    NotificationRef(first_sequence | last, source_id, event_type, 0, timestamp, 0)
    words = room.view(np.uint64).reshape(-1, 8)
    words[:, 0] = np.arange(first_sequence, last + 1, dtype=np.uint64)[: len(room)]
    words[:, 1] = source_id | event_type.value << 32
    words[:, 2] = row_counts
    words[:, 3] = timestamp & 0xFFFFFFFFFFFFFFFF
    words[:, 4] = batch_offsets


def scalars(array: npt.NDArray[np.void]) -> Iterator[NotificationRef]:
    """The notifications of an array, one by one."""
    for sequence, source_id, byte, row_count, timestamp, batch_offset in array.tolist():
        event_type = EventType.from_u8(byte)
        if event_type is None:
            raise UnreadableChange(what="a notification", why=f"{byte} is no event type")
        yield NotificationRef(sequence, source_id, event_type, row_count, timestamp, batch_offset)
