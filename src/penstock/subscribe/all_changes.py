"""The changes of all stream tables in one order, for consumers that poll with a cursor.

    page(n)  =  the events after position n, in order, each once, whatever the size of the ring

Positions come from the journal (`journal.py`), so they outlive this process and are the same in every other. A thread
gives new commits their places (`followed_tables.py`) and puts their events into a ring in memory. A reader that is
further behind than the ring reads the tables themselves (`stored_events.py`).
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
from typing import Final

from penstock.arguments import checked
from penstock.catalog.model import JournalEntry
from penstock.catalog.writer import CatalogWriter
from penstock.changes.ring.batch import Batch
from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.ring.cdc_stats import CdcStats
from penstock.changes.ring.polled import Polled
from penstock.changes.ring.ring_batches import ring_batches
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.ring.run import Run
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.changes.wire.event_json import milliseconds
from penstock.engine.run.workspace import Logs
from penstock.errors import PenstockError
from penstock.subscribe.feed import POLL_SECONDS
from penstock.subscribe.followed_tables import TABLES_SECONDS, FollowedTables
from penstock.subscribe.signal import Signal
from penstock.subscribe.stored_events import ENTRIES_AT_ONCE, MayRead, StoredEvents
from penstock.subscribe.warn_once import WarnOnce

PRUNE_SECONDS: Final = 3600.0
"""Time between two searches for journal entries whose commits can no longer be read."""

_NEVER: Final = float("-inf")

_log = logging.getLogger("penstock.subscribe")


def _every_table(_: str) -> bool:
    return True


@checked
class AllChanges:
    """Safe to use from any number of threads; `close` ends its thread."""

    def __init__(self, catalog: CatalogWriter, logs: Logs, ring_events: int) -> None:
        self._catalog = catalog
        self._ring = CdcBuffer(ring_events)
        self._trouble = WarnOnce(_log, "cannot follow the changes of %s now: %s")
        self._tables = FollowedTables(catalog, logs, self._trouble)
        self._stored = StoredEvents(catalog, self._tables, self._trouble)
        self._filled_at = self._pruned_at = _NEVER
        self._signal = Signal()
        """Notified when the ring has more."""
        self._tables.journal()
        self._ring.set_current_lsn(catalog.last_position())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="penstock-all-changes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._stop.set()
        self._thread.join()
        self._notify()

    # -- asking

    def page(self, since_lsn: int, limit: int, may_read: MayRead = _every_table) -> Polled:
        """At most `limit` events after a position, and the position to ask with next.

        A page with room left has everything that was committed before it was asked for. Events of tables that may not
        be read are passed over. `NotRetained` if the next event is gone for ever, `SystemTrouble` if it cannot be
        read for the moment.
        """
        events: list[ChangeEvent] = []
        cursor, caught_up = max(since_lsn, 0), False
        while (room := limit - len(events)) > 0:
            found = self._ring.poll_runs(cursor, room)
            if found.lost:
                try:
                    stored, cursor = self._stored.page(cursor, room, may_read)
                except PenstockError:
                    # What was found before the error is returned first.
                    if events:
                        break
                    raise
                events += stored
            elif found.entries:
                for run in found.entries:
                    if isinstance(run, Run) and may_read(run.batch.collection):
                        events += run.events()
                cursor = found.next_lsn
            elif caught_up:
                break
            else:
                self.catch_up()
                caught_up = True
        return Polled(events, cursor, 0)

    def wait(self, since_lsn: int, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for an event after a position; True if there is one."""
        return self._ring.wait(since_lsn, timeout)

    async def wait_async(self, since_lsn: int, timeout: float) -> bool:
        """The same without blocking the event loop."""

        def has_more() -> bool | None:
            if self._ring.current_lsn() > since_lsn:
                return True
            return False if self._stop.is_set() else None

        return await self._signal.wait_async(has_more, time.monotonic() + timeout)

    def stats(self) -> CdcStats:
        """What the ring holds, and how many events it has evicted."""
        return self._ring.stats()

    # -- following

    def catch_up(self) -> None:
        """Take in everything that was committed up to now."""
        with self._tables.turn:
            self._tables.forget_lookup()
            self._filled_at = _NEVER
            self._take_in()

    def look(self) -> None:
        """Deprecated: `catch_up`."""
        notice = "AllChanges.look is now AllChanges.catch_up; the next release drops the old name"
        warnings.warn(notice, DeprecationWarning, stacklevel=2)
        self.catch_up()

    def _follow(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            try:
                with self._tables.turn:
                    self._take_in()
                    self._prune()
            except Exception as error:
                # A follower that gave up would leave its readers waiting for ever.
                self._trouble.warn("stream tables", error)
                self._stop.wait(TABLES_SECONDS)

    def _take_in(self) -> None:
        before = self._ring.current_lsn()
        try:
            # The logs say when there is more, but for tables that only another process knows so far, or can read.
            if self._tables.journal() or time.monotonic() - self._filled_at > TABLES_SECONDS:
                self._filled_at = _NEVER
                self._fill()
                self._filled_at = time.monotonic()
        finally:
            # What was taken in before an error is there for those who wait.
            if self._ring.current_lsn() > before:
                self._notify()

    def _fill(self) -> None:
        """Bring the ring up to the journal's end."""
        while entries := self._catalog.journal(self._ring.current_lsn(), ENTRIES_AT_ONCE):
            for entry in entries:
                try:
                    self._emit(entry)
                except PenstockError as error:
                    self._trouble.warn(entry.stream_table, error)
                    # A hole in the ring: a reader that comes to it reads the table, and gets the error.
                    self._ring.set_current_lsn(entry.last)

    def _emit(self, entry: JournalEntry) -> None:
        # Of a commit larger than the ring the first events leave at once, so no reader sees which rows they were.
        passing = max(0, entry.events - self._ring.max_size)
        batches = [Batch(ChangeOperation.INSERT, entry.stream_table, "row", passing)]
        if passing < entry.events:
            changes = self._stored.changes(entry)
            batches += ring_batches(changes, passing, entry.events - passing)
            self._ring.emit_batches(batches, milliseconds(changes.committed_at), first_lsn=entry.position)
        else:
            self._ring.emit_batches(batches, first_lsn=entry.position)

    def _prune(self) -> None:
        if time.monotonic() - self._pruned_at > PRUNE_SECONDS:
            self._pruned_at = time.monotonic()
            self._tables.prune_journal()

    def _notify(self) -> None:
        with self._signal:
            self._signal.notify()
