"""Watching one key, or all keys under a prefix, of a collection.

A watcher holds at most 1,024 events that it has not handed out. What arrives beyond that pushes the oldest out: a slow
watcher sees the newest changes, and every event counts those that were missed before it. Events that the ring
evicted before the watcher read them are missed too. Their keys are no longer known, so all of them count.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.wire.kv_watch_event import KvWatchEvent

BUFFER_EVENTS: Final = 1024
READ_EVENTS: Final = 4096
IDLE_SECONDS: Final = 60.0
_PREFIX: Final = ".*"


class KvWatchStream:
    """For one consumer. Iterating ends when nothing has come for the idle time."""

    def __init__(
        self,
        ring: CdcBuffer,
        collection: str,
        key: str,
        since_lsn: int | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`cart.*` watches all keys that begin with `cart.`; without an LSN, changes from now on."""
        self.collection = collection
        self.key = key
        self.idle_seconds = idle_seconds
        self.dropped_event_count = 0
        self._ring = ring
        self._prefix = key.removesuffix("*") if key.endswith(_PREFIX) else None
        self._cursor = ring.current_lsn() if since_lsn is None else since_lsn
        self._waiting: deque[KvWatchEvent] = deque()

    def try_next(self) -> KvWatchEvent | None:
        """The next event if there is one now."""
        self._read()
        if not self._waiting:
            return None
        return replace(self._waiting.popleft(), dropped_event_count=self.dropped_event_count)

    def next(self, timeout: float) -> KvWatchEvent | None:
        """The next event, waiting up to `timeout` seconds for it; changes of other keys do not prolong the wait."""
        until = time.monotonic() + timeout
        while True:
            event = self.try_next()
            left = until - time.monotonic()
            if event is not None or left <= 0:
                return event
            self._ring.wait(self._cursor, left)

    def __iter__(self) -> Iterator[KvWatchEvent]:
        while (event := self.next(self.idle_seconds)) is not None:
            yield event

    def _read(self) -> None:
        """Take everything that is new in the ring."""
        while True:
            found = self._ring.poll_runs(self._cursor, READ_EVENTS)
            self._cursor = found.next_lsn
            self.dropped_event_count += found.lost
            for entry in found.entries:
                if isinstance(entry, ChangeEvent) and entry.kv is not None and self._watches(entry.kv):
                    self._waiting.append(entry.kv)
                    if len(self._waiting) > BUFFER_EVENTS:
                        self._waiting.popleft()
                        self.dropped_event_count += 1
            if not found.entries:
                return

    def _watches(self, event: KvWatchEvent) -> bool:
        if event.collection != self.collection:
            return False
        return event.key == self.key if self._prefix is None else event.key.startswith(self._prefix)
