"""A thread with a short queue: work that may be slow or fail, done beside the caller.

put   never waits and never raises; what finds the queue full is dropped and counted
work  may raise: counted, and logged once until it succeeds again
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from penstock.said_once import SaidOnce

CAPACITY: Final = 1000
"""Items that may wait; at one alert a second this is a quarter of an hour without a receiver."""

T = TypeVar("T")
_log = logging.getLogger("penstock.monitor")


class Background(Generic[T]):
    """Does `work` for one item after the other. The thread is started by the first item."""

    def __init__(self, name: str, work: Callable[[T], None], capacity: int = CAPACITY) -> None:
        self.name = name
        self.dropped = 0
        self.failed = 0
        self.ending = threading.Event()
        """Set when the work is to come to an end: a wait within `work` waits for this."""
        self._work = work
        self._capacity = capacity
        self._waiting: deque[T] = deque()
        self._moved = threading.Condition()
        self._thread: threading.Thread | None = None
        self._warned = SaidOnce()

    def put(self, item: T) -> None:
        """Hand an item over."""
        with self._moved:
            if self.ending.is_set() or len(self._waiting) >= self._capacity:
                self.dropped += 1
                return
            self._waiting.append(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"penstock-{self.name}", daemon=True)
                self._thread.start()
            self._moved.notify()

    def close(self, patience: float = 5.0) -> None:
        """Finish what waits, for `patience` seconds at most; the rest is dropped. Nothing is taken any more."""
        with self._moved:
            self.ending.set()
            self._moved.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(patience)
        with self._moved:
            self.dropped += len(self._waiting)
            self._waiting.clear()

    def _run(self) -> None:
        while True:
            with self._moved:
                self._moved.wait_for(lambda: self._waiting or self.ending.is_set())
                if not self._waiting:
                    return
                item = self._waiting.popleft()
            try:
                self._work(item)
                self._warned.forget(self.name)
            except Exception as error:
                self.failed += 1
                if self._warned.is_news(self.name):
                    why = f"{type(error).__name__}: {error}"
                    _log.warning("%s fails: %s", self.name, why, extra={"event": "sink_failed"})
