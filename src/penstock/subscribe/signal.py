"""A lock with a bell: threads and coroutines wait for what it guards to change.

A thread that changes the state holds the signal and notifies it. A waiter asks its question while it holds the signal,
and sleeps only if there is no answer yet, so no change comes between the question and the sleep.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

NAP = 0.5
"""Seconds of the longest sleep of a thread: at its end it notices an interrupt that came just before the sleep."""

Question = Callable[[], bool | None]
"""True or False ends the wait, None goes on with it; an exception ends it too."""

_Sleeper = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]
"""A coroutine that waits, by its loop and the future that it waits for."""


class Signal:
    """Hold it as a context manager to read or change what it guards. Holding it twice is allowed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sleepers: set[_Sleeper] = set()

    def __enter__(self) -> None:
        self._condition.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._condition.release()

    def notify(self) -> None:
        """Wake all who wait, so that they ask again; the caller holds the signal."""
        self._condition.notify_all()
        for loop, future in self._sleepers:
            # A closed loop has no coroutine to wake.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future)
        self._sleepers.clear()

    def wait(self, question: Question, deadline: float | None = None) -> bool:
        """The answer; False if there is none until the deadline, a moment of the monotonic clock."""
        with self._condition:
            while (answer := question()) is None:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._condition.wait(NAP if left is None else min(left, NAP))
            return answer

    async def wait_async(self, question: Question, deadline: float | None = None) -> bool:
        """The same without blocking the event loop."""
        loop = asyncio.get_running_loop()
        while True:
            sleeper = loop, loop.create_future()
            with self._condition:
                if (answer := question()) is not None:
                    return answer
                self._sleepers.add(sleeper)
            left = None if deadline is None else deadline - time.monotonic()
            try:
                if left is None:
                    await sleeper[1]
                elif left <= 0:
                    return False
                else:
                    await asyncio.wait([sleeper[1]], timeout=left)
            finally:
                with self._condition:
                    self._sleepers.discard(sleeper)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
