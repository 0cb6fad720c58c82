"""A clock and a stopwatch that stand still until a test moves them."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from penstock.arguments import checked
from penstock.errors import InvalidValue


@checked
class FakeClock:
    """A `Clock` for tests: sleeping moves it forward at once.

    >>> clock = FakeClock(); start = clock.now()
    >>> clock.sleep(90); clock.now() - start
    datetime.timedelta(seconds=90)
    """

    @checked
    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = now.astimezone(UTC)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(timedelta(seconds=seconds))

    def advance(self, by: timedelta) -> datetime:
        """Move forward and return the new moment; a clock that is to run backwards is set instead."""
        if by < timedelta(0):
            raise InvalidValue(what="by", value=str(by), allowed="a duration from zero on; `set` jumps back")
        with self._lock:
            self._now += by
            return self._now

    def set(self, now: datetime) -> None:
        """Jump to any moment, as a corrected system clock does."""
        with self._lock:
            self._now = now.astimezone(UTC)


class FakeStopwatch:
    """Seconds since some start, like `time.monotonic`: the value that a test has given `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds
