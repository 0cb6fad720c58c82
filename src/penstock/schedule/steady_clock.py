"""A clock that never runs backwards and never stands still, whatever happens to the clock on the wall.

    now = max(wall, last + time passed)

Data timestamps only grow. If the wall clock is set back by an hour, a scheduler that went by it would find nothing due
for that hour; this one goes on from where it was, and falls in with the wall again when the wall has caught up. It is
given the newest data timestamp there is, so the same holds after a restart, and for the next leader.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from penstock.schedule.clock import Clock


class SteadyClock:
    """A `Clock` over another one and a stopwatch."""

    def __init__(self, wall: Clock, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._stopwatch = stopwatch
        self._lock = threading.Lock()
        self._last = wall.now()
        self._read_at = stopwatch()

    def now(self) -> datetime:
        with self._lock:
            read_at = self._stopwatch()
            passed = timedelta(seconds=read_at - self._read_at)
            self._last, self._read_at = max(self._wall.now(), self._last + passed), read_at
            return self._last

    def not_before(self, moment: datetime | None) -> None:
        """Go on from that moment, if it is later."""
        if moment is not None and moment > self.now():
            with self._lock:
                self._last = max(self._last, moment)

    def sleep(self, seconds: float) -> None:
        self._wall.sleep(seconds)
