"""Retractable aggregates: whatever came and went, the result is that of what is left."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.aggregators.avg import RetractableAvgAggregator
from penstock.changelog_types.aggregators.count import RetractableCountAggregator
from penstock.changelog_types.aggregators.int64_values import exact_sum
from penstock.changelog_types.aggregators.max import RetractableMaxAggregator
from penstock.changelog_types.aggregators.min import RetractableMinAggregator
from penstock.changelog_types.aggregators.sum import RetractableSumAggregator
from penstock.changelog_types.aggregators.tracked_values import TrackedValues
from penstock.errors import InvalidChange

I64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-3, 3)
KINDS: list[Any] = [
    RetractableCountAggregator,
    RetractableSumAggregator,
    RetractableAvgAggregator,
    RetractableMinAggregator,
    RetractableMaxAggregator,
]


def expected(kind: Any, left: Counter[int]) -> float | None:
    """From scratch, over what is left; counts may be negative."""
    there = [value for value, count in left.items() if count > 0]
    count, total = sum(left.values()), sum(value * times for value, times in left.items())
    answers = {
        RetractableCountAggregator: lambda: count,
        RetractableSumAggregator: lambda: total,
        RetractableAvgAggregator: lambda: float(Fraction(total, count)) if count > 0 else None,
        RetractableMinAggregator: lambda: min(there, default=None),
        RetractableMaxAggregator: lambda: max(there, default=None),
    }
    return answers[kind]()


def test_retractable_count() -> None:
    count = RetractableCountAggregator()
    for _ in range(3):
        count.accumulate()
    assert count.finalize() == 3
    count.retract()
    assert count.finalize() == 2


def test_retractable_sum() -> None:
    total = RetractableSumAggregator()
    for value in (10, 20, 30):
        total.accumulate(value)
    assert total.finalize() == 60
    total.retract(20)
    assert total.finalize() == 40


@pytest.mark.parametrize("kind", KINDS)
def test_new_and_reset_are_the_same(kind: Any) -> None:
    aggregate = kind()
    empty = aggregate.finalize()
    assert empty == expected(kind, Counter())
    aggregate.accumulate(5)
    aggregate.reset()
    assert aggregate.finalize() == empty
    assert aggregate.supports_efficient_retraction()


def test_a_count_may_go_below_zero() -> None:
    count = RetractableCountAggregator()
    count.retract_many(np.zeros(2))
    assert count.finalize() == -2


@given(st.lists(I64), st.lists(I64))
def test_changelog_weights_sum_to_count(inserts: list[int], deletes: list[int]) -> None:
    total = RetractableSumAggregator()
    for value in inserts:
        total.accumulate(value)
    for value in deletes:
        total.retract(value)
    difference = sum(inserts) - sum(deletes)
    if -(2**63) <= difference < 2**63:
        assert total.finalize() == difference
    else:
        with pytest.raises(InvalidChange, match="64 bits"):
            total.finalize()


@pytest.mark.parametrize("kind", KINDS)
@given(steps=st.lists(st.tuples(SMALL, st.booleans())), batches=st.booleans())
def test_any_history_gives_the_aggregate_of_what_is_left(
    kind: Any, steps: list[tuple[int, bool]], batches: bool
) -> None:
    aggregate, left = kind(), Counter[int]()
    for value, comes in steps:
        if batches:
            (aggregate.accumulate_many if comes else aggregate.retract_many)(np.array([value, value]))
        else:
            (aggregate.accumulate if comes else aggregate.retract)(value)
        left[value] += (2 if batches else 1) * (1 if comes else -1)
        assert aggregate.finalize() == expected(kind, left)


@pytest.mark.parametrize("kind", KINDS)
@given(one=st.lists(st.tuples(SMALL, st.booleans())), other=st.lists(st.tuples(SMALL, st.booleans())))
def test_merge_is_the_aggregate_of_both(kind: Any, one: list[tuple[int, bool]], other: list[tuple[int, bool]]) -> None:
    parts = kind(), kind()
    left = Counter[int]()
    for part, steps in zip(parts, (one, other), strict=True):
        for value, comes in steps:
            (part.accumulate if comes else part.retract)(value)
            left[value] += 1 if comes else -1
    untouched = parts[1].finalize()
    parts[0].merge(parts[1])
    assert parts[0].finalize() == expected(kind, left)
    assert parts[1].finalize() == untouched


@pytest.mark.parametrize("kind", KINDS[1:])
def test_nulls_are_skipped(kind: Any) -> None:
    one_by_one, batch, chunked = kind(), kind(), kind()
    for value in (3, None, 5):
        one_by_one.accumulate(value)
    one_by_one.retract(None)
    batch.accumulate_many(pa.array([3, None, 5], pa.int16()))
    batch.retract_many(pa.array([None, None]))
    chunked.accumulate_many(pa.chunked_array([[3], [None, 5]]))
    assert one_by_one.finalize() == batch.finalize() == chunked.finalize() == expected(kind, Counter([3, 5]))


def test_count_counts_rows_with_nulls_too() -> None:
    count = RetractableCountAggregator()
    count.accumulate_many(pa.array([1, None]))
    assert count.finalize() == 2


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("values", [["a"], [1.5], [2**64 - 1], pa.array([2**63], pa.uint64()), [object()], [True]])
def test_what_is_no_64_bit_integer_is_refused(kind: Any, values: Any) -> None:
    with pytest.raises(InvalidChange, match="64-bit integers"):
        kind().accumulate_many(values)


@given(st.lists(I64, max_size=30))
def test_a_batch_is_summed_exactly(values: list[int]) -> None:
    assert exact_sum(np.array(values, np.int64)) == sum(values)


def test_a_sum_may_leave_the_range_and_come_back() -> None:
    total = RetractableSumAggregator()
    largest = np.full(10, 2**63 - 1)
    total.accumulate_many(largest)
    with pytest.raises(InvalidChange, match=str(10 * (2**63 - 1))):
        total.finalize()
    total.retract_many(largest[:9])
    assert total.finalize() == 2**63 - 1


def test_an_average_does_not_drift() -> None:
    average = RetractableAvgAggregator()
    average.accumulate_many(np.array([2**62, 1, 2]))
    average.retract(2**62)
    assert average.finalize() == 1.5


def test_tracked_values_do_not_pile_up() -> None:
    tracked = TrackedValues()
    tracked.add(0, 1)
    for value in range(1, 10_000):
        tracked.add(value, 1)
        tracked.add(value, -1)
    assert tracked.smallest() == 0
    assert len(tracked._heap) < 200
