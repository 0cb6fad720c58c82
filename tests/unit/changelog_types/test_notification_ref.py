"""Notifications: one cache line each, and a batch is the same as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.notification_ref import (
    DTYPE,
    NotificationRef,
    aligned,
    notifications,
    scalars,
    write_notifications,
)
from penstock.changes.wire.event_type import EventType
from penstock.errors import InvalidChange, UnreadableChange

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


def test_notification_ref_size() -> None:
    assert DTYPE.itemsize == 64
    assert [dict(DTYPE.fields or ())[name][1] for name in DTYPE.names or ()] == [0, 8, 12, 16, 24, 32]
    for count in (0, 1, 5):
        assert aligned(count).ctypes.data % 64 == 0 or count == 0


def test_notification_ref_is_copied_by_value() -> None:
    array = notifications(1, 2, EventType.INSERT, np.array([5], np.uint32), 3, np.array([4], np.uint64))
    copied = array.copy()
    array["row_count"] = 99
    assert list(scalars(copied)) == [NotificationRef(1, 2, EventType.INSERT, 5, 3, 4)]
    assert NotificationRef(1, 2, EventType.INSERT, 5, 3, 4) == NotificationRef(1, 2, EventType.INSERT, 5, 3, 4)


@given(
    st.integers(0, 2**64 - 50),
    U32,
    st.sampled_from(EventType),
    st.lists(st.tuples(U32, U64), max_size=20),
    st.integers(-(2**63), 2**63 - 1),
)
def test_a_batch_is_the_same_as_one_by_one(
    first: int, source: int, kind: EventType, each: list[tuple[int, int]], timestamp: int
) -> None:
    counts, offsets = np.array([row for row, _ in each], np.uint32), np.array([at for _, at in each], np.uint64)
    array = notifications(first, source, kind, counts, timestamp, offsets)
    one_by_one = [
        NotificationRef(first + at, source, kind, rows, timestamp, offset) for at, (rows, offset) in enumerate(each)
    ]
    assert list(scalars(array)) == one_by_one
    expected = aligned(len(each))
    for at, ref in enumerate(one_by_one):
        expected[at] = ref.to_row()
    assert array.tobytes() == expected.tobytes()


def test_room_is_written_again() -> None:
    room = aligned(2)
    counts, offsets = np.ones(2, np.uint32), np.zeros(2, np.uint64)
    write_notifications(room, 1, 1, EventType.DELETE, counts, -1, offsets)
    write_notifications(room, 5, 2, EventType.INSERT, counts, -5, offsets)
    assert list(scalars(room)) == [NotificationRef(at, 2, EventType.INSERT, 1, -5, 0) for at in (5, 6)]


@pytest.mark.parametrize(
    ("sequence", "source", "rows", "timestamp", "offset"),
    [(-1, 0, 0, 0, 0), (2**64, 0, 0, 0, 0), (0, 2**32, 0, 0, 0), (0, 0, -1, 0, 0), (0, 0, 0, 2**63, 0)],
)
def test_what_does_not_fit_is_refused(sequence: int, source: int, rows: int, timestamp: int, offset: int) -> None:
    with pytest.raises(InvalidChange, match="64 bits"):
        NotificationRef(sequence, source, EventType.INSERT, rows, timestamp, offset)


def test_the_last_sequence_must_fit_too() -> None:
    with pytest.raises(InvalidChange, match="64 bits"):
        notifications(2**64 - 1, 0, EventType.INSERT, np.ones(2, np.uint32), 0, np.zeros(2, np.uint64))


def test_a_byte_that_is_no_event_type_is_refused() -> None:
    foreign = aligned(1)
    foreign["event_type"] = 5
    with pytest.raises(UnreadableChange, match="5 is no event type"):
        list(scalars(foreign))
