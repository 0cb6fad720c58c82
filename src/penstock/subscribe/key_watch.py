"""Watching one key of a stream table, or all keys under a prefix.

    from a position on   what lay there when the watch began is read at the reader's pace: nothing is dropped
    what comes later     at most 1,024 events wait; one more pushes the oldest out, and every event counts those
                         that were dropped before it

Positions are those of the stream table's own changelog. An event becomes visible with its commit, and a refresh that
fails has none. `key_text.py` defines how a key is written.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Final

from penstock.arguments import checked
from penstock.catalog.model import StreamTableMeta
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.key_events import key_events
from penstock.changes.wire.kv_watch_event import KvWatchEvent
from penstock.engine.changelog.changelog import Changelog
from penstock.errors import NoKey
from penstock.refresh.warehouse import Warehouse
from penstock.subscribe.feed import Feed
from penstock.subscribe.start import Start
from penstock.subscribe.subscribe import subscribe
from penstock.subscribe.subscription import Subscription

BUFFER_EVENTS: Final = 1024
"""Events that wait for a watcher; one more pushes the oldest out."""

IDLE_SECONDS: Final = 60.0
"""Iterating ends when nothing has come for so long."""


@checked
class KeyWatch:
    """For one consumer. Iterating ends when nothing has come for the idle time."""

    def __init__(self, subscription: Subscription, key: str, idle_seconds: float = IDLE_SECONDS) -> None:
        self.key = key
        self.idle_seconds = idle_seconds
        self.dropped_event_count = 0
        """Events of watched keys that were pushed out so far."""
        self.subscription = subscription
        self._began_at = subscription.head
        self._waiting: deque[KvWatchEvent] = deque()

    @property
    def stream_table(self) -> str:
        """The stream table whose rows are watched."""
        return self.subscription.stream_table

    @property
    def position(self) -> int:
        """The watch has read everything up to this position."""
        return self.subscription.position

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
            changes = self.subscription.next_commit(left)
            if changes is None:
                return None
            self._take(changes)

    def __iter__(self) -> Iterator[KvWatchEvent]:
        while (event := self.next(self.idle_seconds)) is not None:
            yield event

    async def follow(self) -> AsyncIterator[KvWatchEvent]:
        """Every event at the reader's pace: nothing waits in memory, so nothing is dropped. Ends with `cancel`."""
        async for changes in self.subscription.commits_async():
            for event in self._matching(changes):
                yield event

    def cancel(self) -> None:
        """Watch no longer."""
        self.subscription.cancel()

    def __enter__(self) -> KeyWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def _read(self) -> None:
        """Take in all that has come; of what lay there before, no more than is asked for."""
        while not self._waiting or self._waiting[0].lsn > self._began_at:
            changes = self.subscription.next_commit(0)
            if changes is None:
                return
            self._take(changes)

    def _take(self, changes: CommitChanges) -> None:
        self._waiting.extend(self._matching(changes))
        if changes.last_lsn > self._began_at:
            while len(self._waiting) > BUFFER_EVENTS:
                self._waiting.popleft()
                self.dropped_event_count += 1

    def _matching(self, changes: CommitChanges) -> Iterator[KvWatchEvent]:
        # A new definition may have taken the key away.
        if not changes.key:
            raise NoKey(name=self.stream_table)
        return key_events(changes, self.key)


def watch_key(warehouse: Warehouse, feed: Feed, meta: StreamTableMeta, key: str, since_lsn: int | None) -> KeyWatch:
    """Watch a key from now on, or after a position; `NoKey` if the stream table has no visible key."""
    changelog = Changelog(str(meta.name), warehouse.logs.at(meta.path))
    if not changelog.key(changelog.newest()):
        raise NoKey(name=str(meta.name))
    start = Start.of(lsn=since_lsn)
    return KeyWatch(subscribe(warehouse, feed, meta, start), key)
