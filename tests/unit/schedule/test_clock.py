"""Clocks: the system's shows aware UTC, the fake one moves only when told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from penstock.errors import InvalidArgument, InvalidValue
from penstock.schedule.clock import Clock, SystemClock
from penstock.testing import FakeClock


def test_the_system_clock_shows_utc_and_sleeps() -> None:
    clock: Clock = SystemClock()
    start = clock.now()
    assert start.utcoffset() == timedelta(0)
    clock.sleep(0.01)
    assert clock.now() > start


def test_the_fake_clock_stands_still_until_told() -> None:
    clock: Clock = FakeClock(datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))))
    assert clock.now() == clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    clock.sleep(1.5)
    assert clock.now() == datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)


def test_the_fake_clock_runs_back_only_by_being_set() -> None:
    clock = FakeClock()
    start = clock.now()
    with pytest.raises(InvalidValue, match="jumps back"):
        clock.advance(timedelta(seconds=-1))
    clock.set(start - timedelta(seconds=1))
    assert clock.now() == start - timedelta(seconds=1)
    with pytest.raises(InvalidArgument, match="without a time zone"):
        FakeClock(datetime(2026, 1, 1))
