"""Changelog records as the events that subscribers get.

record        an Insert if its weight is positive, a Delete if it is negative, also for one half of an update
retraction    both halves of an update as one Update
"""

from __future__ import annotations

import pyarrow as pa

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Update
from penstock.changes.wire.event_type import EventType
from penstock.errors import NotConvertible

_TYPES = (EventType.INSERT, EventType.DELETE, EventType.UPDATE, EventType.UPDATE)


def event_of_record(record: ChangelogRecord[pa.RecordBatch], sequence: int) -> ChangeEvent:
    """A record by itself. A weight of one keeps the batch itself; rows of a larger weight are repeated."""
    if not record.weight:
        raise NotConvertible(
            what="a record of weight 0", target="an event", why="it changes nothing", fix="Leave such records out."
        )
    copies = abs(record.weight)
    data = record.data if copies == 1 else pa.concat_batches([record.data] * copies)
    return (Insert if record.weight > 0 else Delete)(data, record.timestamp, sequence)


def event_of_retraction(
    before: ChangelogRecord[pa.RecordBatch], after: ChangelogRecord[pa.RecordBatch], sequence: int
) -> Update:
    """Both halves of an update, as `ChangelogRecord.retraction` makes them, in one event."""
    if before.weight != -1 or after.weight != 1:
        raise NotConvertible(
            what=f"a pair of weights {before.weight} and {after.weight}",
            target="an update",
            why="an update takes one row away and adds one",
            fix="Pass the record that goes first, each of one copy.",
        )
    return Update(before.data, after.data, after.timestamp, sequence)


def event_type_of(operation: CdcOperation) -> EventType:
    """The event an operation belongs to; both halves of an update belong to an UPDATE."""
    return _TYPES[operation.value]
