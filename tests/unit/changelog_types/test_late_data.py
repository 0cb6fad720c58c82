"""Late data: a pair only when a window says something else than before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import thorough
from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.changelog_types.late_data import EmittedResult, LateDataRetractionGenerator, WindowId
from penstock.changelog_types.late_rows import late_rows
from penstock.errors import UnreadableChange

I64 = st.integers(-(2**63), 2**63 - 1)
WINDOW = WindowId(0, 60_000)


def test_late_data_retraction_generation() -> None:
    generator = LateDataRetractionGenerator(enabled=True)
    assert generator.check_retraction(WINDOW, b"count=5", 1000) is None
    assert generator.emitted(WINDOW) == EmittedResult(b"count=5", 1000, 1)
    assert generator.check_retraction(WINDOW, b"count=7", 2000) == (b"count=5", b"count=7")
    assert generator.emitted(WINDOW) == EmittedResult(b"count=7", 2000, 2)
    assert generator.check_retraction(WINDOW, b"count=7", 3000) is None
    assert generator.emitted(WINDOW) == EmittedResult(b"count=7", 2000, 2)
    assert generator.retractions == 1


def test_disabled_it_stores_nothing() -> None:
    generator = LateDataRetractionGenerator(enabled=False)
    for data in (b"1", b"2", b"2"):
        assert generator.check_retraction(WINDOW, data, 1) is None
    assert len(generator) == 0


def test_after_cleanup_the_next_result_is_a_first_one() -> None:
    generator = LateDataRetractionGenerator(enabled=True)
    generator.check_retraction(WINDOW, b"1", 1)
    generator.cleanup_window(WINDOW)
    generator.cleanup_window(WINDOW)
    assert generator.check_retraction(WINDOW, b"2", 2) is None
    assert generator.emitted(WINDOW) == EmittedResult(b"2", 2, 1)


def test_cleanup_by_watermark_keeps_windows_that_end_later() -> None:
    generator = LateDataRetractionGenerator(enabled=True)
    windows = [WindowId(at, at + 10) for at in (0, 5, 10)]
    for window in windows:
        generator.check_retraction(window, b"", 0)
    assert generator.cleanup_before_watermark(15) == 2
    assert [generator.emitted(window) is not None for window in windows] == [False, False, True]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([b"a", b"b"]))))
def test_the_pairs_add_up_to_the_last_results(results: list[tuple[int, bytes]]) -> None:
    """First results as inserts and pairs as −1 and +1: what is left is the last result of every window."""
    generator = LateDataRetractionGenerator(enabled=True)
    weights: dict[tuple[int, bytes], int] = {}
    last: dict[int, bytes] = {}
    for start, data in results:
        pair = generator.check_retraction(WindowId(start, start + 1), data, 0)
        records: tuple[ChangelogRecord[bytes], ...] = ChangelogRecord.retraction(*pair, 0) if pair else ()
        if start not in last:
            records = (ChangelogRecord.insert(data, 0),)
        for record in records:
            weights[start, record.data] = weights.get((start, record.data), 0) + record.weight
        last[start] = data
    assert {row for row, weight in weights.items() if weight} == set(last.items())
    assert set(weights.values()) <= {0, 1}


@given(I64, I64)
def test_window_keys(start: int, end: int) -> None:
    key = WindowId(start, end).to_key()
    assert key == start.to_bytes(8, "big", signed=True) + end.to_bytes(8, "big", signed=True)
    assert WindowId.from_key(key) == WindowId(start, end)
    assert len({WindowId(start, end), WindowId(start, end)}) == 1


@thorough
@given(st.binary(max_size=40).filter(lambda key: len(key) != 16))
def test_another_length_is_no_window_key(key: bytes) -> None:
    with pytest.raises(UnreadableChange, match="16"):
        WindowId.from_key(key)


@given(st.lists(I64), I64, st.integers(0, 2**64))
def test_late_rows_are_those_of_closed_windows(ends: list[int], watermark: int, lateness: int) -> None:
    late = late_rows(np.array(ends, np.int64), watermark, lateness)
    assert late.tolist() == [watermark >= end + lateness for end in ends]
