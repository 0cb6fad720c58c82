"""A buffer of changelog references, allocated once and used again every epoch.

A full buffer refuses more and returns False: that is the signal to drain it. Draining keeps the order of pushes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.changelog_types.changelog_ref import DTYPE, ChangelogRef


class ChangelogBuffer:
    """At most `capacity` references; pushing allocates nothing."""

    __slots__ = ("_length", "_refs", "_words")

    def __init__(self, capacity: int = 1024) -> None:
        self._refs = np.zeros(capacity, DTYPE)
        # The same memory as plain words, which NumPy copies at once instead of field by field.
        self._words = self._refs.view(np.uint32)
        self._length = 0

    @classmethod
    def with_capacity(cls, capacity: int) -> ChangelogBuffer:
        """An empty buffer for that many references."""
        return cls(capacity)

    @property
    def capacity(self) -> int:
        """How many references it can hold."""
        return len(self._refs)

    def push(self, ref: ChangelogRef) -> bool:
        """Store a reference; False if the buffer is full, and then nothing changed."""
        if self._length == len(self._refs):
            return False
        self._refs[self._length] = ref.to_row()
        self._length += 1
        return True

    def push_retraction(self, before: ChangelogRef, after: ChangelogRef) -> bool:
        """Store both halves of an update, or neither."""
        if self.available() < 2:
            return False
        return self.push(before) and self.push(after)

    def push_many(self, refs: npt.NDArray[np.void]) -> int:
        """Store as many as fit, from the first on; returns how many. The caller keeps the rest."""
        taken = min(len(refs), self.available())
        begin = 3 * self._length
        self._words[begin : begin + 3 * taken] = np.ascontiguousarray(refs[:taken]).view(np.uint32)
        self._length += taken
        return taken

    def drain(self) -> npt.NDArray[np.void]:
        """Everything in push order, as an array of its own; the buffer is empty then."""
        drained = self._refs[: self._length].copy()
        self._length = 0
        return drained

    def clear(self) -> None:
        """Forget everything."""
        self._length = 0

    def available(self) -> int:
        """How many more references fit."""
        return len(self._refs) - self._length

    def is_empty(self) -> bool:
        """True if nothing is stored."""
        return self._length == 0

    def is_full(self) -> bool:
        """True if the next push will be refused."""
        return self._length == len(self._refs)

    def __len__(self) -> int:
        return self._length
