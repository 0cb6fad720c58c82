"""What kind of event a subscriber gets, in one byte.

Its weight says which way an event goes. It does not count rows: an update has +1 here and leaves the number of rows as
it was. To count, sum rows.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from penstock.changes.moved import in_library


class EventType(Enum):
    """A value type; its value is its byte."""

    INSERT = 0
    DELETE = 1
    UPDATE = 2
    WATERMARK = 3
    SNAPSHOT = 4

    def weight(self) -> int:
        """+1 for INSERT, UPDATE and SNAPSHOT, −1 for DELETE, 0 for WATERMARK."""
        return _WEIGHTS[self.value]

    def has_data(self) -> bool:
        """True if the event carries rows: all but WATERMARK do."""
        return self is not EventType.WATERMARK

    def to_u8(self) -> int:
        """The type as a number from 0 to 4."""
        return self.value

    @staticmethod
    def from_u8(byte: int) -> EventType | None:
        """The inverse of `to_u8`; None for any other number."""
        return _TYPES[byte] if 0 <= byte < len(_TYPES) else None

    @staticmethod
    def from_operation(operation: Any) -> EventType:
        """Deprecated: `penstock.changelog_types.record_events.event_type_of`."""
        found: EventType = in_library("event_type_of", "EventType.from_operation")(operation)
        return found


_WEIGHTS = (1, -1, 1, 0, 1)
_TYPES = tuple(EventType)
