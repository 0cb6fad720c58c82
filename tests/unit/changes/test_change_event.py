"""Events: accessors of every variant, shared rows, and the ways from records."""

from __future__ import annotations

import copy

import pyarrow as pa
import pytest

from penstock.changelog_types.change_event_batch import ChangeEventBatch
from penstock.changes.wire.cdc_operation import CdcOperation
from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Update, Watermark
from penstock.changes.wire.changelog_record import ChangelogRecord
from penstock.changes.wire.event_type import EventType
from penstock.errors import InvalidChange, NotConvertible

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


def test_from_cdc_operation() -> None:
    assert [EventType.from_operation(each) for each in CdcOperation] == [
        EventType.INSERT,
        EventType.DELETE,
        EventType.UPDATE,
        EventType.UPDATE,
    ]


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


def test_from_changelog_record() -> None:
    before, after = ChangelogRecord.retraction(BATCH, OTHER, 5)
    events = [
        ChangeEvent.from_changelog_record(record, 9)
        for record in (ChangelogRecord.insert(BATCH, 5), ChangelogRecord.delete(BATCH, 5), before, after)
    ]
    assert events == [Insert(BATCH, 5, 9), Delete(BATCH, 5, 9), Delete(BATCH, 5, 9), Insert(OTHER, 5, 9)]
    assert isinstance(events[3], Insert)
    assert events[3].data is OTHER


def test_a_larger_weight_is_so_many_rows() -> None:
    record = ChangelogRecord(BATCH, -2, 5, CdcOperation.DELETE)
    event = ChangeEvent.from_changelog_record(record, 9)
    assert isinstance(event, Delete)
    assert event.data.column("id").to_pylist() == [1, 2, 3, 1, 2, 3]


def test_weight_zero_is_no_event() -> None:
    with pytest.raises(NotConvertible, match="weight 0"):
        ChangeEvent.from_changelog_record(ChangelogRecord(BATCH, 0, 5, CdcOperation.INSERT), 9)


def test_a_pair_is_one_update() -> None:
    before, after = ChangelogRecord.retraction(BATCH, OTHER, 5)
    event = ChangeEvent.from_retraction(before, after, 9)
    assert event == Update(BATCH, OTHER, 5, 9)
    assert event.old is BATCH
    with pytest.raises(NotConvertible, match="1 and -1"):
        ChangeEvent.from_retraction(after, before, 9)


@pytest.mark.parametrize("new", [BATCH.slice(1), pa.record_batch({"other": [1, 2, 3]})])
def test_an_update_goes_row_by_row(new: pa.RecordBatch) -> None:
    with pytest.raises(InvalidChange, match="each old row"):
        ChangeEvent.update(BATCH, new, 0, 1)


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
