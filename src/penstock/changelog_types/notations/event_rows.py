"""Events of record batches to changes of single rows, and back.

    Insert ↔ insert        Delete ↔ delete        Update ↔ update        Snapshot → insert        Watermark → nothing

An event numbers its rows by their order: row n has the sequence of the event plus n. Back needs the schema, for rows
alone do not tell the types of their columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.changelog_types.notations.row_words import RowChange
from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Update
from penstock.errors import NotConvertible

Row = Mapping[str, Any]


def to_row_changes(event: ChangeEvent) -> list[RowChange[Row]]:
    """One change per row of the event."""
    match event:
        case Insert() | Snapshot():
            return [RowChange("insert", after=row) for row in event.data.to_pylist()]
        case Delete():
            return [RowChange("delete", before=row) for row in event.data.to_pylist()]
        case Update():
            both = zip(event.old.to_pylist(), event.new.to_pylist(), strict=True)
            return [RowChange("update", old, new) for old, new in both]
    return []


def to_event(changes: Sequence[RowChange[Row]], schema: pa.Schema, timestamp: int, sequence: int) -> ChangeEvent:
    """Changes of one word as one event; `sequence` is that of the first."""
    words = {change.word for change in changes}
    before = [change.before for change in changes if change.before is not None]
    after = [change.after for change in changes if change.after is not None]
    full = len(changes)
    match [*words], len(before), len(after):
        case ["insert"], 0, held if held == full:
            return Insert(_batch(after, schema), timestamp, sequence)
        case ["delete"], held, 0 if held == full:
            return Delete(_batch(before, schema), timestamp, sequence)
        case ["update"], old, new if old == new == full:
            return Update(_batch(before, schema), _batch(after, schema), timestamp, sequence)
    raise NotConvertible(
        what=f"{full} changes ({', '.join(sorted(words)) or 'none'})",
        target="one event",
        why="an event is of one kind; insert has rows after, delete rows before, update both",
        fix="Make an event of each run of changes of one word, with the rows they need.",
    )


def _batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(row) for row in rows], schema)
