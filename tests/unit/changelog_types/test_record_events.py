"""Records and operations as events, and the names that these functions had as methods."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.changelog_types.record_events import event_of_record, event_of_retraction, event_type_of
from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Update
from penstock.changes.wire.event_type import EventType
from penstock.errors import NotConvertible

BATCH = pa.record_batch({"id": [1, 2, 3]})
OTHER = pa.record_batch({"id": [4, 5, 6]})


def test_from_cdc_operation() -> None:
    assert [event_type_of(each) for each in CdcOperation] == [
        EventType.INSERT,
        EventType.DELETE,
        EventType.UPDATE,
        EventType.UPDATE,
    ]


def test_from_changelog_record() -> None:
    before, after = ChangelogRecord.retraction(BATCH, OTHER, 5)
    events = [
        event_of_record(record, 9)
        for record in (ChangelogRecord.insert(BATCH, 5), ChangelogRecord.delete(BATCH, 5), before, after)
    ]
    assert events == [Insert(BATCH, 5, 9), Delete(BATCH, 5, 9), Delete(BATCH, 5, 9), Insert(OTHER, 5, 9)]
    assert isinstance(events[3], Insert)
    assert events[3].data is OTHER


def test_a_larger_weight_is_so_many_rows() -> None:
    record = ChangelogRecord(BATCH, -2, 5, CdcOperation.DELETE)
    event = event_of_record(record, 9)
    assert isinstance(event, Delete)
    assert event.data.column("id").to_pylist() == [1, 2, 3, 1, 2, 3]


def test_weight_zero_is_no_event() -> None:
    with pytest.raises(NotConvertible, match="weight 0"):
        event_of_record(ChangelogRecord(BATCH, 0, 5, CdcOperation.INSERT), 9)


def test_a_pair_is_one_update() -> None:
    before, after = ChangelogRecord.retraction(BATCH, OTHER, 5)
    event = event_of_retraction(before, after, 9)
    assert event == Update(BATCH, OTHER, 5, 9)
    assert event.old is BATCH
    with pytest.raises(NotConvertible, match="1 and -1"):
        event_of_retraction(after, before, 9)


def test_the_old_names_still_work() -> None:
    before, after = ChangelogRecord.retraction(BATCH, OTHER, 5)
    with pytest.warns(DeprecationWarning, match="event_of_record"):
        assert ChangeEvent.from_changelog_record(after, 9) == event_of_record(after, 9)
    with pytest.warns(DeprecationWarning, match="event_of_retraction"):
        assert ChangeEvent.from_retraction(before, after, 9) == event_of_retraction(before, after, 9)
    with pytest.warns(DeprecationWarning, match="event_type_of"):
        assert EventType.from_operation(CdcOperation.INSERT) is EventType.INSERT
