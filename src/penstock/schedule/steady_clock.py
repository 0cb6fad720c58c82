"""A clock that never runs backwards and never stands still, whatever happens to the clock on the wall.

    now = max(wall, last + time passed)

Data timestamps only grow. If the wall clock is set back by an hour, a scheduler that went by it would find nothing due
for that hour; this one goes on from where it was, and falls in with the wall again when the wall has caught up. The
same after a restart: it begins no earlier than the newest data timestamp there is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from penstock.schedule.clock import Clock


class SteadyClock:
    """A `Clock` over another one and a stopwatch."""

    def __init__(
        self, wall: Clock, not_before: datetime | None = None, stopwatch: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall = wall
        self._stopwatch = stopwatch
        self._lock = threading.Lock()
        self._last = max(wall.now(), not_before) if not_before is not None else wall.now()
        self._read_at = stopwatch()

    def now(self) -> datetime:
        with self._lock:
            read_at = self._stopwatch()
            passed = timedelta(seconds=read_at - self._read_at)
            self._last, self._read_at = max(self._wall.now(), self._last + passed), read_at
            return self._last

    def sleep(self, seconds: float) -> None:
        self._wall.sleep(seconds)
