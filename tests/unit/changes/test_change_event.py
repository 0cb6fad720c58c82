"""Events: accessors of every variant, and shared rows."""

from __future__ import annotations

import copy

import pyarrow as pa
import pytest

from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Watermark
from penstock.changes.wire.event_type import EventType
from penstock.errors import InvalidChange

BATCH = pa.record_batch({"id": [1, 2, 3]})
OTHER = pa.record_batch({"id": [4, 5, 6]})


def test_event_type_weights() -> None:
    assert {each.name: each.weight() for each in EventType} == {
        "INSERT": 1,
        "DELETE": -1,
        "UPDATE": 1,
        "WATERMARK": 0,
        "SNAPSHOT": 1,
    }
    assert [each for each in EventType if not each.has_data()] == [EventType.WATERMARK]


def test_event_type_bytes() -> None:
    assert [each.to_u8() for each in EventType] == [0, 1, 2, 3, 4]
    assert [EventType.from_u8(byte) for byte in range(-1, 6)] == [None, *EventType, None]


def test_change_event_insert() -> None:
    event = ChangeEvent.insert(BATCH, 1000, 7)
    assert event == Insert(BATCH, 1000, 7)
    assert (event.event_type(), event.timestamp, event.sequence) == (EventType.INSERT, 1000, 7)
    assert (event.row_count(), event.has_data()) == (3, True)


def test_change_event_delete() -> None:
    event = ChangeEvent.delete(BATCH, 1000, 7)
    assert event == Delete(BATCH, 1000, 7)
    assert (event.event_type(), event.timestamp, event.sequence) == (EventType.DELETE, 1000, 7)
    assert event != ChangeEvent.insert(BATCH, 1000, 7)


def test_change_event_update() -> None:
    event = ChangeEvent.update(BATCH, OTHER, 1000, 7)
    assert (event.old, event.new) == (BATCH, OTHER)
    assert (event.event_type(), event.timestamp, event.sequence) == (EventType.UPDATE, 1000, 7)


def test_change_event_watermark() -> None:
    event: ChangeEvent = ChangeEvent.watermark(1000)
    assert event == Watermark(1000)
    assert (event.event_type(), event.timestamp, event.sequence) == (EventType.WATERMARK, 1000, None)
    assert (event.row_count(), event.has_data()) == (0, False)


def test_change_event_snapshot() -> None:
    event: ChangeEvent = ChangeEvent.snapshot(BATCH, 1000)
    assert event == Snapshot(BATCH, 1000)
    assert (event.event_type(), event.timestamp, event.sequence) == (EventType.SNAPSHOT, 1000, None)
    assert event.has_data()


def test_change_event_row_count() -> None:
    events: list[ChangeEvent] = [
        ChangeEvent.insert(BATCH, 0, 1),
        ChangeEvent.delete(BATCH.slice(1), 0, 2),
        ChangeEvent.update(BATCH.slice(2), OTHER.slice(2), 0, 3),
        ChangeEvent.watermark(0),
        ChangeEvent.snapshot(BATCH.slice(3), 0),
    ]
    assert [each.row_count() for each in events] == [3, 2, 1, 0, 0]


def test_change_event_clone_is_cheap() -> None:
    event = ChangeEvent.update(BATCH, OTHER, 0, 1)
    for clone in (event.clone(), copy.copy(event), copy.deepcopy(event)):
        assert clone is event
        assert clone.old is BATCH


def test_an_event_cannot_change() -> None:
    event = ChangeEvent.insert(BATCH, 0, 1)
    with pytest.raises(AttributeError):
        event.timestamp = 5  # type: ignore[misc]


@pytest.mark.parametrize("new", [BATCH.slice(1), pa.record_batch({"other": [1, 2, 3]})])
def test_an_update_goes_row_by_row(new: pa.RecordBatch) -> None:
    with pytest.raises(InvalidChange, match="each old row"):
        ChangeEvent.update(BATCH, new, 0, 1)
