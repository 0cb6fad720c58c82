"""Events delivered together: bounds, counts, one schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.changelog_types.change_event_batch import ChangeEventBatch
from penstock.changes.wire.change_event import ChangeEvent
from penstock.errors import InvalidChange

BATCH = pa.record_batch({"id": [1, 2, 3]})
OTHER = pa.record_batch({"id": [4, 5, 6]})


def test_change_event_batch() -> None:
    events = [ChangeEvent.insert(BATCH, 0, 10), ChangeEvent.update(BATCH, OTHER, 0, 11)]
    batch = ChangeEventBatch.new("orders", events)
    assert (batch.source, batch.start_sequence, batch.end_sequence) == ("orders", 10, 12)
    assert (batch.total_rows(), len(batch), batch.is_empty()) == (6, 2, False)
    assert batch.events == tuple(events)


def test_change_event_batch_empty() -> None:
    batch = ChangeEventBatch.new("orders", [])
    assert (batch.total_rows(), len(batch), batch.is_empty()) == (0, 0, True)
    assert (batch.start_sequence, batch.end_sequence) == (0, 0)


def test_bounds_are_those_of_events_with_a_sequence() -> None:
    events = [
        ChangeEvent.snapshot(BATCH, 0),
        ChangeEvent.insert(BATCH, 0, 10),
        ChangeEvent.delete(BATCH, 0, 12),
        ChangeEvent.watermark(5),
    ]
    batch = ChangeEventBatch.new("orders", events)
    assert (batch.start_sequence, batch.end_sequence) == (10, 13)
    only = ChangeEventBatch.new("orders", [ChangeEvent.watermark(5)])
    assert (only.start_sequence, only.end_sequence) == (0, 0)


def test_a_batch_has_one_schema() -> None:
    with pytest.raises(InvalidChange, match="different columns"):
        ChangeEventBatch.new(
            "orders", [ChangeEvent.insert(BATCH, 0, 1), ChangeEvent.insert(pa.record_batch({"x": [1]}), 0, 2)]
        )
