"""The events of a commit as a subscriber gets them: Arrow batches of what goes, what is replaced, what comes."""

from __future__ import annotations

import pyarrow as pa

from penstock.changes.wire.change_event import ChangeEvent
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import milliseconds


def events_of(changes: CommitChanges) -> list[ChangeEvent]:
    """One event for each kind of change in the commit; all rows anew are a snapshot.

    An event's sequence is the position of its last row.
    """
    stamp = milliseconds(changes.data_timestamp or changes.committed_at)
    events: list[ChangeEvent] = []
    for kind, was, now, lsns in changes.runs():
        last = int(lsns[-1])
        match kind:
            case "delete":
                events.append(ChangeEvent.delete(_batch(was), stamp, last))
            case "update":
                events.append(ChangeEvent.update(_batch(was), _batch(now), stamp, last))
            case "insert":
                events.append(ChangeEvent.insert(_batch(now), stamp, last))
            case _:
                events.append(ChangeEvent.snapshot(_batch(now), stamp))
    return events


def _batch(rows: pa.Table | None) -> pa.RecordBatch:
    assert rows is not None
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], rows.schema)
