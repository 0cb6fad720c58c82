"""The event that a subscriber receives: rows as an Arrow record batch, shared and never copied.

Events cannot change, so a clone is the same event: handing one to a thousand subscribers costs a thousand references,
however many rows it has. `timestamp` and `sequence` are attributes; watermarks and snapshots have no sequence (None).
The row-level event of the ring has the same name; it is another type in another module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pyarrow as pa

from penstock.changes.moved import in_library
from penstock.changes.wire.arrow_rows import ArrowRows
from penstock.changes.wire.event_type import EventType
from penstock.errors import InvalidChange


class ChangeEvent(ArrowRows, ABC):
    """One of Insert, Delete, Update, Watermark and Snapshot."""

    __slots__ = ()

    timestamp: int
    sequence: int | None
    _type: ClassVar[EventType]

    @staticmethod
    def insert(data: pa.RecordBatch, timestamp: int, sequence: int) -> Insert:
        """Rows came."""
        return Insert(data, timestamp, sequence)

    @staticmethod
    def delete(data: pa.RecordBatch, timestamp: int, sequence: int) -> Delete:
        """Rows went."""
        return Delete(data, timestamp, sequence)

    @staticmethod
    def update(old: pa.RecordBatch, new: pa.RecordBatch, timestamp: int, sequence: int) -> Update:
        """Rows changed, one by one from old to new."""
        return Update(old, new, timestamp, sequence)

    @staticmethod
    def watermark(timestamp: int) -> Watermark:
        """Event time has come so far."""
        return Watermark(timestamp)

    @staticmethod
    def snapshot(data: pa.RecordBatch, timestamp: int) -> Snapshot:
        """The rows when a subscription began."""
        return Snapshot(data, timestamp)

    @staticmethod
    def from_changelog_record(record: Any, sequence: int) -> ChangeEvent:
        """Deprecated: `penstock.changelog_types.record_events.event_of_record`."""
        event: ChangeEvent = in_library("event_of_record", "ChangeEvent.from_changelog_record")(record, sequence)
        return event

    @staticmethod
    def from_retraction(before: Any, after: Any, sequence: int) -> Update:
        """Deprecated: `penstock.changelog_types.record_events.event_of_retraction`."""
        event: Update = in_library("event_of_retraction", "ChangeEvent.from_retraction")(before, after, sequence)
        return event

    def event_type(self) -> EventType:
        """Which of the five it is."""
        return self._type

    def has_data(self) -> bool:
        """True if it carries rows."""
        return self._type.has_data()

    @abstractmethod
    def row_count(self) -> int:
        """How many rows it carries; an update counts its new ones."""

    def clone(self) -> Self:
        """The same event."""
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class Insert(ChangeEvent):
    """Rows came."""

    data: pa.RecordBatch
    timestamp: int
    sequence: int
    _type: ClassVar[EventType] = EventType.INSERT

    def row_count(self) -> int:
        return self.data.num_rows  # type: ignore[no-any-return]

    def arrow(self) -> pa.Table:
        return pa.Table.from_batches([self.data])


@dataclass(frozen=True, slots=True)
class Delete(ChangeEvent):
    """Rows went."""

    data: pa.RecordBatch
    timestamp: int
    sequence: int
    _type: ClassVar[EventType] = EventType.DELETE

    def row_count(self) -> int:
        return self.data.num_rows  # type: ignore[no-any-return]

    def arrow(self) -> pa.Table:
        return pa.Table.from_batches([self.data])


@dataclass(frozen=True, slots=True)
class Update(ChangeEvent):
    """Rows changed: row n of `old` became row n of `new`."""

    old: pa.RecordBatch
    new: pa.RecordBatch
    timestamp: int
    sequence: int
    _type: ClassVar[EventType] = EventType.UPDATE

    def __post_init__(self) -> None:
        if self.old.num_rows != self.new.num_rows or not self.old.schema.equals(self.new.schema):
            raise InvalidChange(
                what=f"an update from {self.old.num_rows} rows to {self.new.num_rows}",
                why="each old row becomes one new row of the same columns",
                fix="Send rows that only came as an Insert, rows that only went as a Delete.",
            )

    def row_count(self) -> int:
        return self.new.num_rows  # type: ignore[no-any-return]

    def arrow(self) -> pa.Table:
        return pa.Table.from_batches([self.new])


@dataclass(frozen=True, slots=True)
class Watermark(ChangeEvent):
    """Event time has come so far."""

    timestamp: int
    _type: ClassVar[EventType] = EventType.WATERMARK

    @property
    def sequence(self) -> None:  # type: ignore[override]
        """None: a watermark is no change."""
        return None

    def row_count(self) -> int:
        return 0

    def arrow(self) -> pa.Table:
        return pa.table({})


@dataclass(frozen=True, slots=True)
class Snapshot(ChangeEvent):
    """The rows when a subscription began."""

    data: pa.RecordBatch
    timestamp: int
    _type: ClassVar[EventType] = EventType.SNAPSHOT

    @property
    def sequence(self) -> None:  # type: ignore[override]
        """None: a snapshot is no change."""
        return None

    def row_count(self) -> int:
        return self.data.num_rows  # type: ignore[no-any-return]

    def arrow(self) -> pa.Table:
        return pa.Table.from_batches([self.data])
