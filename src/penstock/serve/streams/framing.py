"""How a transport writes changes, snapshots and watermarks; the file of each transport has its framing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol


class Framing(Protocol):
    """Bytes for a transport, made once and sent to all."""

    name: str

    def changes(self, lsns: Sequence[int], bodies: Sequence[bytes]) -> bytes:
        """Events in order, each with its position."""
        ...

    def snapshot(self, lsn: int, rows: Sequence[bytes], *, first: bool, last: bool) -> bytes:
        """A part of all rows as of a position; the first part makes everything before it void."""
        ...

    def watermark(self, lsn: int, ts_ms: int | None) -> bytes:
        """The table stands for a moment, and every event up to this position was sent."""
        ...

    def heartbeat(self, lsn: int) -> bytes:
        """A sign that the connection is alive."""
        ...


class _Silent:
    """For a client that waits for changes without being sent any: every frame is empty."""

    name = "none"

    def changes(self, lsns: Sequence[int], bodies: Sequence[bytes]) -> bytes:
        return b""

    def snapshot(self, lsn: int, rows: Sequence[bytes], *, first: bool, last: bool) -> bytes:
        return b""

    def watermark(self, lsn: int, ts_ms: int | None) -> bytes:
        return b""

    def heartbeat(self, lsn: int) -> bytes:
        return b""


SILENT: Final = _Silent()
