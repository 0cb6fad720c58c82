"""Values by key, of which the most recently used are kept.

    kept  =  the longest tail, in order of last use, whose sizes add up to at most the limit

A value that is larger than the limit by itself is not kept, and drives no other out; but at least `least` values are
kept, however large they are. A value that no caller has used for `idle` seconds goes when the next one is put.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RecentlyUsed(Generic[K, V]):
    """Safe to share between threads."""

    def __init__(
        self,
        limit: int,
        size: Callable[[V], int] = lambda value: 1,
        *,
        least: int = 0,
        idle: float = float("inf"),
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit, self._size, self._least = limit, size, least
        self._idle, self._stopwatch = idle, stopwatch
        self._held: OrderedDict[K, tuple[V, float]] = OrderedDict()
        """Key → value and when it was last used, the longest ago first."""
        self._total = 0
        self._lock = Lock()

    def __contains__(self, key: K) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)

    def keys(self) -> list[K]:
        """The keys of what is kept, the most recently used last."""
        with self._lock:
            return list(self._held)

    def get(self, key: K) -> V | None:
        """The value of a key, which counts as its use; None if it is not kept."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            self._held[key] = held[0], self._stopwatch()
            self._held.move_to_end(key)
            return held[0]

    def put(self, key: K, value: V) -> None:
        """Keep a value, in the place of another of the same key, and drop the oldest ones that are too much."""
        with self._lock:
            self._drop(key)
            now, size = self._stopwatch(), self._size(value)
            if size <= self._limit or self._least:
                self._held[key] = value, now
                self._total += size
            while len(self._held) > self._least:
                first = next(iter(self._held))
                if self._total <= self._limit and self._held[first][1] >= now - self._idle:
                    break
                self._drop(first)

    def pop(self, key: K) -> V | None:
        """Take the value of a key away; None if it is not kept."""
        with self._lock:
            return self._drop(key)

    def _drop(self, key: K) -> V | None:
        held = self._held.pop(key, None)
        if held is None:
            return None
        self._total -= self._size(held[0])
        return held[0]
