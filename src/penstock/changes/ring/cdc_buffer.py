"""The ring: the newest changes of all collections, at most `max_size` events, for consumers that poll with an LSN.

The ring assigns an LSN and stores its event under the same lock. So events lie in the order of their LSNs, and a reader
that has seen LSN n can never be passed by a smaller one. The lock is held to count and to append, whatever the size of
a batch: what is stored are *runs* (`run.py`), not rows.

    first LSN is 1 · next = previous + 1 · a batch of n takes n in a row, whether they fit or not

A run leaves with its last event, and no run is longer than the ring: rows in memory stay below twice its size. The
contents of a REFRESH are one event, and stay as long as it does.

A poll finds its place by bisection and takes parts of runs; objects are made outside the lock. The ring
counts what it evicts, and every poll returns how many events its reader has missed (`polled.py`).
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock.changes.ring.batch import Batch
from penstock.changes.ring.cdc_stats import CdcStats
from penstock.changes.ring.event_columns import event_columns
from penstock.changes.ring.kv_change import KvChange
from penstock.changes.ring.polled import Polled, PolledColumns, PolledRuns
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.ring.run import Run
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.changes.wire.kv_watch_event import KvWatchEvent
from penstock.errors import InvalidRun, InvalidSetting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SWEEP: Final = 1024
"""Evicted entries that are swept from the front of the lists at once, so that eviction costs nothing by the entry."""


def _unix_milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _check_id(entity_id: int) -> None:
    # Checked here, where the culprit is, and not where a reader makes a column of it.
    if not 0 <= entity_id < 1 << 64:
        raise InvalidRun(why=f"{entity_id} is no id: ids are integers from 0 to 2⁶⁴ − 1")


def _last_lsn(entry: Run | ChangeEvent) -> int:
    return entry.last_lsn if isinstance(entry, Run) else entry.lsn


class CdcBuffer:
    """Safe to use from any number of threads."""

    def __init__(self, max_size: int, clock: Callable[[], int] = _unix_milliseconds) -> None:
        if max_size < 0:
            raise InvalidSetting(
                name="max_size", value=max_size, why="a ring cannot be that small", allowed="0 or more"
            )
        self.max_size = max_size
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._lsn = 0
        self._emitted = 0
        self._held = 0
        # Entries before `_head` are evicted, and `_skip` rows of the entry at `_head` are.
        self._starts: list[int] = []
        self._entries: list[Run | ChangeEvent | None] = []
        self._head = 0
        self._skip = 0

    def emit(self, operation: ChangeOperation, collection: str, entity_id: int, entity_kind: str) -> int:
        """Add one event; the answer is its LSN."""
        return self.emit_with_columns(operation, collection, entity_id, entity_kind, None)

    def emit_with_columns(
        self,
        operation: ChangeOperation,
        collection: str,
        entity_id: int,
        entity_kind: str,
        changed_columns: Sequence[str] | None,
    ) -> int:
        """Add one event that says which columns an update changed, in that order."""
        _check_id(entity_id)
        columns = None if changed_columns is None else tuple(changed_columns)
        with self._changed:
            lsn = self._lsn + 1
            self._append(
                lsn, 1, ChangeEvent(lsn, self._clock(), operation, collection, entity_id, entity_kind, columns)
            )
            self._changed.notify_all()
        return lsn

    def emit_batch_same_collection(
        self,
        operation: ChangeOperation,
        collection: str,
        entity_kind: str,
        entity_ids: Iterable[int] | NDArray[np.integer],
    ) -> range:
        """Add an event for each id; the answer is their LSNs, in the order of the ids."""
        return self.emit_batches([Batch.of_ids(operation, collection, entity_kind, entity_ids)])

    def emit_batches(
        self, batches: Sequence[Batch], timestamp: int | None = None, first_lsn: int | None = None
    ) -> range:
        """Add batches in one go: their LSNs follow each other, nothing comes between, and readers wake up once.

        `first_lsn` is for a ring that follows LSNs assigned elsewhere; it must lie beyond the current one, and LSNs
        that are left out count as lost.
        """
        if timestamp is not None and timestamp < 0:
            raise InvalidRun(why=f"{timestamp} is not a time in Unix milliseconds")
        total = sum(batch.count for batch in batches)
        fitting = [batch.last(self.max_size) for batch in batches]
        with self._changed:
            first = self._lsn + 1 if first_lsn is None else first_lsn
            if first <= self._lsn:
                raise InvalidRun(why=f"LSN {first} was given out before; the ring is at {self._lsn}")
            if total == 0:
                return range(first, first)
            at = self._clock() if timestamp is None else timestamp
            next_lsn = first
            for batch, kept in zip(batches, fitting, strict=True):
                self._emitted += batch.count - kept.count
                next_lsn += batch.count - kept.count
                if kept.count:
                    self._append(next_lsn, kept.count, Run(next_lsn, at, kept, 0, kept.count))
                    next_lsn += kept.count
            self._lsn = next_lsn - 1
            self._changed.notify_all()
        return range(first, next_lsn)

    def emit_kv(
        self, operation: ChangeOperation, collection: str, key: str, entity_id: int, before: Any, after: Any
    ) -> int:
        """Add a committed change of one key, for watchers and for all other readers."""
        return self.emit_kv_changes([KvChange(operation, collection, key, before, after, entity_id)]).start

    def emit_kv_changes(self, changes: Sequence[KvChange]) -> range:
        """Add the changes of one transaction: one time, LSNs that follow each other."""
        for change in changes:
            _check_id(change.entity_id)
        with self._changed:
            first = self._lsn + 1
            at = self._clock()
            for lsn, change in enumerate(changes, first):
                kv = KvWatchEvent(change.collection, change.key, change.op, change.before, change.after, lsn, at)
                event = ChangeEvent(lsn, at, change.op, change.collection, change.entity_id, "kv", ("value",), kv)
                self._append(lsn, 1, event)
            if changes:
                self._changed.notify_all()
        return range(first, first + len(changes))

    def poll(self, since_lsn: int, max_count: int) -> list[ChangeEvent]:
        """At most `max_count` events after this LSN, oldest first; they stay in the ring."""
        return self.poll_with_loss(since_lsn, max_count).events

    def poll_with_loss(self, since_lsn: int, max_count: int) -> Polled:
        """The same, with the next cursor and the number of events that were missed."""
        found = self.poll_runs(since_lsn, max_count)
        events: list[ChangeEvent] = []
        for entry in found.entries:
            if isinstance(entry, ChangeEvent):
                events.append(entry)
            else:
                events += entry.events()
        return Polled(events, found.next_lsn, found.lost)

    def poll_columns(self, since_lsn: int, max_count: int) -> PolledColumns:
        """The same as Arrow columns."""
        found = self.poll_runs(since_lsn, max_count)
        return PolledColumns(event_columns(found.entries), found.next_lsn, found.lost)

    def poll_runs(self, since_lsn: int, max_count: int) -> PolledRuns:
        """The same as the ring holds it, with Arrow rows by reference."""
        if max_count <= 0:
            return PolledRuns([], since_lsn, 0)
        entries: list[Run | ChangeEvent] = []
        left = max_count
        with self._changed:
            at, offset = self._place(since_lsn)
            held, end = self._entries, len(self._entries)
            while left and at < end:
                entry = held[at]
                if isinstance(entry, Run):
                    entry = entry.part(offset, min(entry.count - offset, left))
                    left -= entry.count
                    offset = 0
                    entries.append(entry)
                elif entry is not None:
                    left -= 1
                    entries.append(entry)
                at += 1
            last = _last_lsn(entries[-1]) if entries else max(since_lsn, self._lsn)
        return PolledRuns(entries, last, last - since_lsn - (max_count - left))

    def wait(self, since_lsn: int, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for an event after this LSN; True if there is one."""
        with self._changed:
            return self._changed.wait_for(lambda: self._lsn > since_lsn, timeout)

    def current_lsn(self) -> int:
        """The last LSN that was assigned; 0 if none was."""
        with self._changed:
            return self._lsn

    def set_current_lsn(self, lsn: int) -> None:
        """Go on after this LSN, as after a restart. Only raises: a smaller one changes nothing."""
        with self._changed:
            if lsn > self._lsn:
                self._lsn = lsn
                self._changed.notify_all()

    def oldest_lsn(self) -> int | None:
        """The oldest event in the ring, if any."""
        return self.stats().oldest_lsn

    def stats(self) -> CdcStats:
        """All figures of one moment."""
        with self._changed:
            held, newest = self._held, self._entries[-1] if self._held else None
            return CdcStats(
                buffered_events=held,
                current_lsn=self._lsn,
                oldest_lsn=self._starts[self._head] + self._skip if held else None,
                newest_lsn=None if newest is None else _last_lsn(newest),
                evicted_events=self._emitted - held,
            )

    def _append(self, lsn: int, count: int, entry: Run | ChangeEvent) -> None:
        """Assign the LSNs and store the entry. The caller holds the lock."""
        self._lsn = lsn + count - 1
        self._emitted += count
        self._starts.append(lsn)
        self._entries.append(entry)
        self._held += count
        if self._held > self.max_size:
            self._evict(self._held - self.max_size)

    def _evict(self, count: int) -> None:
        """Remove exactly this number of events from the front."""
        self._held -= count
        while count:
            entry = self._entries[self._head]
            rows = (entry.count if isinstance(entry, Run) else 1) - self._skip
            if rows > count:
                self._skip += count
                break
            self._entries[self._head] = None
            self._head += 1
            self._skip = 0
            count -= rows
        if self._head >= _SWEEP and self._head * 2 >= len(self._entries):
            del self._starts[: self._head], self._entries[: self._head]
            self._head = 0

    def _place(self, since_lsn: int) -> tuple[int, int]:
        """The entry and the row in it where the events after this LSN begin. The caller holds the lock."""
        at = bisect_right(self._starts, since_lsn, self._head) - 1
        if at < self._head:
            return self._head, self._skip
        entry = self._entries[at]
        offset = since_lsn - self._starts[at] + 1
        if offset >= (entry.count if isinstance(entry, Run) else 1):
            return at + 1, 0
        return at, max(offset, self._skip) if at == self._head else offset
