"""Work on the nodes of a graph side by side: each starts as soon as everything it waits for is done.

    at most `workers` at once; of those that are ready, the first in the given order first

The caller is one of the workers, and others are called in only while more than one node is ready: a chain, or a single
node, never leaves the caller's thread. After an error nothing new is started; what runs is waited for, and of all
errors the one that comes first in the order is raised. KeyboardInterrupt comes before all errors; `on_interrupt` is
called then, to bring the end of what runs nearer.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

WorkerLoop = Callable[[], None]
ThreadFactory = Callable[[WorkerLoop, int], threading.Thread]
"""Makes the thread of a worker, not started, from what it has to do and its number (1, 2, …)."""


_AGAIN: Final = 0.2
"""Seconds between two calls of `on_interrupt`."""


def plain_thread(worker_loop: WorkerLoop, number: int) -> threading.Thread:
    """A thread with nothing special about it."""
    return threading.Thread(target=worker_loop, name=f"worker-{number}", daemon=True)


def work_side_by_side(
    order: Sequence[str],
    waits_for: Mapping[str, Collection[str]],
    work: Callable[[str], None],
    workers: int,
    new_thread: ThreadFactory = plain_thread,
    on_interrupt: Callable[[], None] = lambda: None,
) -> None:
    """Work on every node of `order`, which has whatever a node waits for before it; others count as done."""
    board = _Board(order, waits_for, work, workers, new_thread)
    try:
        board.worker_loop()
        if not board.is_interrupted:
            board.wait()
    except BaseException as stop:
        # It came between two nodes, or while others were waited for.
        board.stop(stop)
    board.wait(on_interrupt if board.is_interrupted else None)
    if board.errors:
        raise board.errors[min(board.errors)]


class _Board:
    """What is ready, what runs, what is left; every change of it happens under one lock."""

    def __init__(
        self,
        order: Sequence[str],
        waits_for: Mapping[str, Collection[str]],
        work: Callable[[str], None],
        workers: int,
        new_thread: ThreadFactory,
    ) -> None:
        self.errors: dict[int, BaseException] = {}
        self._order = order
        self._work = work
        self._workers = workers
        self._new_thread = new_thread
        self._place = {key: place for place, key in enumerate(order)}
        self._missing = {key: {each for each in waits_for.get(key, ()) if each in self._place} for key in order}
        self._followers: dict[str, list[str]] = {key: [] for key in order}
        for key, missing in self._missing.items():
            for each in missing:
                self._followers[each].append(key)
        self._ready = [place for place, key in enumerate(order) if not self._missing[key]]
        self._left = len(order)
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()

    def worker_loop(self) -> None:
        """Work on one ready node after another, until none is left."""
        place: int | None = -1
        try:
            while (place := self._next()) is not None:
                self._work(self._order[place])
                self._end(place)
        except BaseException as error:
            self.stop(error, -1 if place is None else place)

    def wait(self, on_interrupt: Callable[[], None] | None = None) -> None:
        """Return when no other worker is left; until then each is hurried now and again, for it may begin anew."""
        while True:
            with self._changed:
                running = [thread for thread in self._threads if thread.is_alive()]
            if not running:
                return
            if on_interrupt is not None:
                on_interrupt()
            for thread in running:
                thread.join(None if on_interrupt is None else _AGAIN)

    def _next(self) -> int | None:
        with self._changed:
            while self._left and not self._ready:
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            if not self._left:
                return None
            place = heapq.heappop(self._ready)
            if self._ready and not self._idle and len(self._threads) < self._workers - 1:
                thread = self._new_thread(self.worker_loop, len(self._threads) + 1)
                thread.start()
                self._threads.append(thread)
            return place

    def _end(self, place: int) -> None:
        with self._changed:
            if not self._left:
                return
            self._left -= 1
            key = self._order[place]
            for follower in self._followers[key]:
                self._missing[follower].discard(key)
                if not self._missing[follower]:
                    heapq.heappush(self._ready, self._place[follower])
            self._changed.notify_all()

    @property
    def is_interrupted(self) -> bool:
        """True if what stopped the work is not about any node of it."""
        return -1 in self.errors

    def stop(self, error: BaseException, place: int = -1) -> None:
        """Start nothing more."""
        with self._changed:
            self.errors[place if isinstance(error, Exception) else -1] = error
            self._left, self._ready = 0, []
            self._changed.notify_all()
