"""The buffer: full means no, in order, and used again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_buffer import ChangelogBuffer
from penstock.changelog_types.changelog_ref import ChangelogRef, refs, scalars


def ref(row: int) -> ChangelogRef:
    return ChangelogRef(0, row, 1, CdcOperation.INSERT)


def test_changelog_buffer_of_1024() -> None:
    buffer = ChangelogBuffer.with_capacity(1024)
    for row in range(100):
        assert buffer.push(ref(row))
    assert len(buffer) == 100
    assert list(scalars(buffer.drain())) == [ref(row) for row in range(100)]
    assert buffer.is_empty()
    assert len(buffer) == 0


def test_a_full_buffer_says_no_and_changes_nothing() -> None:
    buffer = ChangelogBuffer.with_capacity(2)
    assert buffer.push(ref(0))
    assert buffer.push(ref(1))
    assert buffer.is_full()
    assert not buffer.push(ref(2))
    assert list(scalars(buffer.drain())) == [ref(0), ref(1)]


def test_after_a_drain_the_whole_capacity_is_there_again() -> None:
    buffer = ChangelogBuffer.with_capacity(3)
    for turn in range(4):
        assert [buffer.push(ref(turn * 10 + at)) for at in range(4)] == [True, True, True, False]
        assert [each.row_index for each in scalars(buffer.drain())] == [turn * 10 + at for at in range(3)]
        assert buffer.capacity == 3


def test_drained_references_stay_when_the_buffer_is_used_again() -> None:
    buffer = ChangelogBuffer.with_capacity(2)
    buffer.push(ref(1))
    drained = buffer.drain()
    buffer.push(ref(2))
    assert list(scalars(drained)) == [ref(1)]


def test_a_retraction_is_stored_whole_or_not_at_all() -> None:
    before = ChangelogRef(0, 1, -1, CdcOperation.UPDATE_BEFORE)
    after = ChangelogRef(0, 2, 1, CdcOperation.UPDATE_AFTER)
    buffer = ChangelogBuffer.with_capacity(3)
    assert buffer.push_retraction(before, after)
    assert buffer.available() == 1
    assert not buffer.push_retraction(before, after)
    assert list(scalars(buffer.drain())) == [before, after]


def test_clear_forgets() -> None:
    buffer = ChangelogBuffer()
    buffer.push(ref(1))
    buffer.clear()
    assert buffer.is_empty()
    assert len(buffer.drain()) == 0
    assert buffer.available() == buffer.capacity == 1024


@pytest.mark.parametrize("capacity", [0, 1])
def test_the_smallest_buffers(capacity: int) -> None:
    buffer = ChangelogBuffer.with_capacity(capacity)
    assert buffer.push(ref(0)) is (capacity == 1)
    assert buffer.push_many(refs(0, np.arange(3), 1, 0)) == 0
    assert len(buffer.drain()) == capacity


@given(st.integers(0, 10), st.lists(st.integers(0, 6) | st.none(), max_size=12))
def test_a_buffer_is_a_bounded_list(capacity: int, turns: list[int | None]) -> None:
    """None drains; a number pushes so many at once, of every second row of a larger array."""
    buffer, kept, next_row = ChangelogBuffer.with_capacity(capacity), list[int](), 0
    for many in turns:
        if many is None:
            assert [each.row_index for each in scalars(buffer.drain())] == kept
            kept = []
            continue
        rows = np.arange(next_row, next_row + 2 * many)
        taken = buffer.push_many(refs(0, rows, 1, 0)[::2])
        assert taken == min(many, capacity - len(kept))
        kept += rows[::2][:taken].tolist()
        next_row += 2 * many
        assert (len(buffer), buffer.available()) == (len(kept), capacity - len(kept))
