"""The grid: periods of at most half the lag, stamps that nest, and due before the promise is broken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.graph.grid import FINEST, due_stamp, next_stamp, period, stamp

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
lags = st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=400))
moments = st.datetimes(min_value=datetime(1960, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))


@pytest.mark.parametrize(
    ("lag", "expected"),
    [
        (1, 0.375),
        (3, 1.5),
        (59.9, 24),
        (60, 24),
        (95.999, 24),
        (96, 48),
        (300, 96),
        (3600, 1536),
        (86_400, 24_576),
    ],
)
def test_periods(lag: float, expected: float) -> None:
    assert period(timedelta(seconds=lag)).total_seconds() == expected


@given(lags)
def test_a_period_is_the_largest_of_the_grid_within_half_the_lag(lag: timedelta) -> None:
    found = period(lag)
    assert found * 2 <= lag < found * 4
    ratio = found // FINEST
    assert found == FINEST * ratio
    assert ratio & (ratio - 1) == 0


def test_a_lag_below_the_grid_is_refused() -> None:
    assert period(FINEST * 2) == FINEST
    with pytest.raises(ValueError, match="finest"):
        period(FINEST * 2 - timedelta(microseconds=1))


@given(moments, lags, lags)
def test_coarse_stamps_are_stamps_of_every_finer_period(now: datetime, one: timedelta, other: timedelta) -> None:
    coarse, fine = max(period(one), period(other)), min(period(one), period(other))
    met = stamp(now, coarse)
    assert stamp(met, fine) == met
    assert met <= stamp(now, fine)


@given(moments, lags)
def test_a_stamp_is_the_newest_multiple_not_after_now(now: datetime, lag: timedelta) -> None:
    every = period(lag)
    found = stamp(now, every)
    assert (found - EPOCH) % every == timedelta(0)
    assert found <= now < found + every
    assert next_stamp(now, lag) == found + every


@given(moments, lags)
def test_due_until_refreshed_and_again_at_the_next_stamp(now: datetime, lag: timedelta) -> None:
    first = due_stamp(now, lag, None)
    assert first is not None
    assert due_stamp(now, lag, first) is None
    assert due_stamp(now, lag, first + timedelta(microseconds=1)) is None, "a data timestamp never moves back"
    following = next_stamp(now, lag)
    assert due_stamp(following - timedelta(microseconds=1), lag, first) is None
    assert due_stamp(following, lag, first) == following
    assert following - first <= lag / 2, "due while half of the promise is left"
