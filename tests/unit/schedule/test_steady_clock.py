"""A clock that goes on whatever is done to the one on the wall."""

from __future__ import annotations

from datetime import timedelta

from penstock.schedule.steady_clock import SteadyClock
from penstock.testing.clock import FakeClock, FakeStopwatch

HOUR = timedelta(hours=1)


def test_it_shows_the_wall_while_the_wall_behaves() -> None:
    wall, stopwatch = FakeClock(), FakeStopwatch()
    clock = SteadyClock(wall, stopwatch=stopwatch)
    stopwatch.seconds += 5
    assert clock.now() == wall.now() + timedelta(seconds=5)
    wall.advance(timedelta(seconds=7))
    assert clock.now() == wall.now()


def test_it_goes_on_when_the_wall_is_set_back_and_falls_in_with_it_later() -> None:
    wall, stopwatch = FakeClock(), FakeStopwatch()
    clock = SteadyClock(wall, stopwatch=stopwatch)
    start = clock.now()
    wall.set(start - HOUR)
    stopwatch.seconds += 30
    assert clock.now() == start + timedelta(seconds=30)
    wall.set(start + HOUR)
    assert clock.now() == start + HOUR


def test_it_goes_on_from_a_later_moment_that_it_is_told_of() -> None:
    wall, stopwatch = FakeClock(), FakeStopwatch()
    shown = wall.now() + HOUR
    clock = SteadyClock(wall, stopwatch=stopwatch)
    clock.not_before(shown)
    assert clock.now() == shown
    stopwatch.seconds += 1
    assert clock.now() == shown + timedelta(seconds=1)
    clock.not_before(shown - 2 * HOUR)
    clock.not_before(None)
    assert clock.now() == shown + timedelta(seconds=1)
