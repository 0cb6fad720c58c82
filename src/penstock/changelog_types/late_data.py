"""Retractions for results that were already emitted.

    first result: nothing · same result: nothing · another result: (old, new), that is −1 old and +1 new

The generator remembers the last result of every open window. `cleanup_window` releases a window that has closed.
"""

from __future__ import annotations

import struct

import msgspec

from penstock.errors import UnreadableChange

_KEY = struct.Struct(">qq")


class WindowId(msgspec.Struct, frozen=True, order=True):
    """A window of event time in milliseconds, `[start, end)`."""

    # A struct rather than a dataclass: its hash is computed in C, and every check of a result hashes one.
    start: int
    end: int

    def to_key(self) -> bytes:
        """Start and end as 16 bytes, big-endian."""
        return _KEY.pack(self.start, self.end)

    @staticmethod
    def from_key(key: bytes) -> WindowId:
        """The inverse of `to_key`."""
        if len(key) != _KEY.size:
            raise UnreadableChange(what="a window key", why=f"it has {len(key)} bytes, not {_KEY.size}")
        return WindowId(*_KEY.unpack(key))


class EmittedResult(msgspec.Struct, frozen=True):
    """What a window last emitted; `version` counts its different results from 1."""

    data: bytes
    emit_time: int
    version: int


class LateDataRetractionGenerator:
    """The last results of one view's open windows. A disabled one stores nothing and retracts nothing."""

    __slots__ = ("_emitted", "_retractions", "enabled")

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._emitted: dict[WindowId, EmittedResult] = {}
        self._retractions = 0

    def check_retraction(self, window_id: WindowId, new_data: bytes, timestamp: int) -> tuple[bytes, bytes] | None:
        """The pair (old, new) if the window emitted something else before, and None if not."""
        if not self.enabled:
            return None
        last = self._emitted.get(window_id)
        if last is None:
            self._emitted[window_id] = EmittedResult(new_data, timestamp, 1)
            return None
        if last.data == new_data:
            return None
        self._emitted[window_id] = EmittedResult(new_data, timestamp, last.version + 1)
        self._retractions += 1
        return last.data, new_data

    def emitted(self, window_id: WindowId) -> EmittedResult | None:
        """What a window last emitted."""
        return self._emitted.get(window_id)

    def cleanup_window(self, window_id: WindowId) -> None:
        """Forget a window; its next result is a first one."""
        self._emitted.pop(window_id, None)

    def cleanup_before_watermark(self, watermark: int) -> int:
        """Forget every window that ended at or before the watermark; returns how many."""
        closed = [window for window in self._emitted if window.end <= watermark]
        for window in closed:
            del self._emitted[window]
        return len(closed)

    @property
    def retractions(self) -> int:
        """How many pairs were given out."""
        return self._retractions

    def __len__(self) -> int:
        """How many windows are remembered."""
        return len(self._emitted)
