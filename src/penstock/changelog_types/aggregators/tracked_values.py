"""A multiset of integers that always knows its smallest.

Every value has a net count, which may be negative while a retraction is ahead of its insertion; only values of positive
count are there. A heap holds the candidates; those that are gone are thrown away when they come to the top.
"""

from __future__ import annotations

import heapq


class TrackedValues:
    """Adding is logarithmic, taking away is too on average, and nothing is ever scanned."""

    __slots__ = ("_counts", "_heap", "_queued")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._heap: list[int] = []
        self._queued: set[int] = set()

    def add(self, value: int, copies: int) -> None:
        """Add copies; a negative number takes them away."""
        count = self._counts.get(value, 0) + copies
        if count:
            self._counts[value] = count
        else:
            del self._counts[value]
        if count > 0 and value not in self._queued:
            heapq.heappush(self._heap, value)
            self._queued.add(value)
        elif len(self._heap) > 2 * len(self._counts) + 64:
            # Values that left from the middle would otherwise stay for ever; this is paid for by their leaving.
            self._heap = [each for each, held in self._counts.items() if held > 0]
            heapq.heapify(self._heap)
            self._queued = set(self._heap)

    def add_all(self, other: TrackedValues) -> None:
        """Add every value of another multiset."""
        for value, count in list(other._counts.items()):
            self.add(value, count)

    def smallest(self) -> int | None:
        """The smallest value that is there."""
        while self._heap:
            if self._counts.get(self._heap[0], 0) > 0:
                return self._heap[0]
            self._queued.discard(heapq.heappop(self._heap))
        return None
