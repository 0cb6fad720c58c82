"""The changes of all stream tables in one order, for consumers that poll with a cursor.

    page(n)  =  the events after position n, in order, each once, whatever the size of the ring

Positions come from the journal (`journal.py`), so they outlive this process and are the same in every other. The newest
events are in a ring in memory; whoever is further behind is read to from the tables themselves. Only what a table no
longer holds is lost, and that is said: `NotRetained`, with the next position that can be read. What cannot be read for
the moment is neither lost nor passed over: whoever comes to it hears why, and asks again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
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
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import milliseconds
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.run.workspace import Logs
from penstock.errors import NotRetained, PenstockError, Retry, SourceMissing
from penstock.recently_used import RecentlyUsed
from penstock.said_once import SaidOnce
from penstock.subscribe.feed import LOOK_SECONDS
from penstock.subscribe.journal import catch_up, prune
from penstock.subscribe.wake import Sleeper, wake

TABLES_SECONDS: Final = 1.0
"""Between two questions to the catalog which stream tables there are; also until an unreadable one is tried again."""

PRUNE_SECONDS: Final = 3600.0
"""Between two looks for journal entries that nobody can read any more."""

KEPT_BYTES: Final = 64 * 1024 * 1024
"""Rows of so many bytes are kept for readers that take a commit page by page."""

ENTRIES_AT_ONCE: Final = 64
EVERYTHING: Final = "the changes of all stream tables"

MayRead = Callable[[str], bool]

_log = logging.getLogger("penstock.subscribe")


@dataclass(slots=True)
class _Table:
    changelog: Changelog
    seen: int | None = None
    """The newest version whose commits have their places."""
    rests_until: float = 0.0


def _anybody(_: str) -> bool:
    return True


@checked
class AllChanges:
    """Safe to use from any number of threads; `close` ends its thread."""

    def __init__(self, catalog: CatalogWriter, logs: Logs, ring_events: int) -> None:
        self._catalog, self._logs = catalog, logs
        self._ring = CdcBuffer(ring_events)
        self._tables: dict[str, _Table] = {}
        self._warned = SaidOnce()
        self._turn = threading.RLock()
        self._asked_at = float("-inf")
        self._pruned_at = float("-inf")
        self._kept: RecentlyUsed[tuple[str, int], CommitChanges] = RecentlyUsed(
            KEPT_BYTES, lambda changes: changes.nbytes, least=1
        )
        self._sleepers: set[Sleeper] = set()
        self._sleeping = threading.Lock()
        self._journal()
        self._ring.set_current_lsn(catalog.last_position())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-all-changes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Follow no longer."""
        self._stop.set()
        self._thread.join()
        self._wake()

    # -- asking

    def page(self, since_lsn: int, limit: int, may_read: MayRead = _anybody) -> Polled:
        """At most so many events after a position, and the position to ask with next.

        A page with room left has everything that was committed before it was asked for. Events of tables that may not
        be read are passed over. `NotRetained` if the next event is gone for ever, `SystemTrouble` if it cannot be
        read for the moment.
        """
        events: list[ChangeEvent] = []
        cursor, looked = max(since_lsn, 0), False
        while (room := limit - len(events)) > 0:
            found = self._ring.poll_runs(cursor, room)
            if found.lost:
                try:
                    stored, cursor = self._stored(cursor, room, may_read)
                except PenstockError:
                    # What was found before the trouble is given first.
                    if events:
                        break
                    raise
                events += stored
            elif found.entries:
                for run in found.entries:
                    if isinstance(run, Run) and may_read(run.batch.collection):
                        events += run.events()
                cursor = found.next_lsn
            elif looked:
                break
            else:
                self.look()
                looked = True
        return Polled(events, cursor, 0)

    def wait(self, since_lsn: int, timeout: float | None = None) -> bool:
        """Wait until there is something after a position, or so many seconds; True if there is."""
        return self._ring.wait(since_lsn, timeout)

    async def wait_async(self, since_lsn: int, timeout: float) -> bool:
        """The same without blocking the event loop."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        while (left := until - loop.time()) > 0 and not self._stop.is_set():
            sleeper: Sleeper = loop, loop.create_future()
            with self._sleeping:
                self._sleepers.add(sleeper)
            try:
                # Asked after lying down: what comes in between wakes.
                if self._ring.current_lsn() > since_lsn:
                    break
                await asyncio.wait([sleeper[1]], timeout=left)
            finally:
                with self._sleeping:
                    self._sleepers.discard(sleeper)
        return self._ring.current_lsn() > since_lsn

    def stats(self) -> CdcStats:
        """What the ring holds, and how many events it has let go of."""
        return self._ring.stats()

    # -- following

    def look(self) -> None:
        """Take in what has been committed up to now."""
        with self._turn:
            self._asked_at = float("-inf")
            self._take_in()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                with self._turn:
                    self._take_in()
                    self._prune()
            except Exception as error:
                # A follower that gave up would leave its readers waiting for ever.
                self._tell("", error)
                self._stop.wait(TABLES_SECONDS)

    def _take_in(self) -> None:
        before = self._ring.current_lsn()
        if self._journal() or self._catalog.last_position() > before:
            self._fill()
        if self._ring.current_lsn() > before:
            self._wake()

    def _journal(self) -> bool:
        """Give new commits their places; True if a table has moved."""
        self._find_tables()
        moved: dict[str, int] = {}
        unread: dict[str, PenstockError] = {}
        now = time.monotonic()
        for table_id, table in self._tables.items():
            if table.rests_until > now:
                continue
            try:
                latest = table.changelog.latest_version()
            except PenstockError as error:
                unread[table_id] = error
                continue
            if latest != table.seen:
                moved[table_id] = latest
        if moved:
            unread |= catch_up(self._catalog, {each: self._tables[each].changelog for each in moved})
        for table_id in moved.keys() - unread.keys():
            self._tables[table_id].seen = moved[table_id]
        if unread:
            self._rest(unread)
        return bool(moved)

    def _find_tables(self) -> None:
        if time.monotonic() - self._asked_at < TABLES_SECONDS:
            return
        found = {meta.table_id: meta for meta in self._catalog.get_all()}
        self._asked_at = time.monotonic()
        held = {table_id: table for table_id, table in self._tables.items() if table_id in found}
        for table_id, meta in found.items():
            if table_id in held:
                continue
            try:
                held[table_id] = _Table(Changelog(str(meta.name), self._logs.at(meta.path)))
            except PenstockError as error:
                # Its storage does not answer; it is tried again with the next question.
                self._tell(str(meta.name), error)
        self._tables = held

    def _rest(self, unread: dict[str, PenstockError]) -> None:
        """Leave tables alone for a while that cannot be read now."""
        self._asked_at = float("-inf")
        self._find_tables()
        for table_id, error in unread.items():
            # One that was dropped has left the catalog, and there is nothing to tell.
            if (table := self._tables.get(table_id)) is not None:
                table.rests_until = time.monotonic() + TABLES_SECONDS
                self._tell(table.changelog.name, error)

    def _tell(self, name: str, error: Exception) -> None:
        text = str(error)
        if self._warned.is_news(name, text):
            _log.warning("changes of %s cannot be followed now: %s", name or "stream tables", text)

    def _fill(self) -> None:
        """Bring the ring up to the journal's end."""
        while entries := self._catalog.journal(self._ring.current_lsn(), ENTRIES_AT_ONCE):
            for entry in entries:
                try:
                    self._emit(entry)
                except PenstockError as error:
                    self._tell(entry.stream_table, error)
                    # A hole in the ring: a reader who comes to it asks the table, and hears why.
                    self._ring.set_current_lsn(entry.last)

    def _emit(self, entry: JournalEntry) -> None:
        # Of a commit larger than the ring the first events leave at once, so nobody asks which rows they were.
        passing = max(0, entry.events - self._ring.max_size)
        batches = [Batch(ChangeOperation.INSERT, entry.stream_table, "row", passing)]
        if passing < entry.events:
            changes = self._changes(entry)
            batches += ring_batches(changes, passing, entry.events - passing)
            self._ring.emit_batches(batches, milliseconds(changes.committed_at), first_lsn=entry.position)
        else:
            self._ring.emit_batches(batches, first_lsn=entry.position)

    def _prune(self) -> None:
        if time.monotonic() - self._pruned_at > PRUNE_SECONDS:
            self._pruned_at = time.monotonic()
            prune(self._catalog, {table_id: table.changelog for table_id, table in self._tables.items()})

    def _wake(self) -> None:
        with self._sleeping:
            for sleeper in self._sleepers:
                wake(sleeper)
            self._sleepers.clear()

    # -- reading back

    def _stored(self, since_lsn: int, limit: int, may_read: MayRead) -> tuple[list[ChangeEvent], int]:
        """Events after a position from the tables themselves, and how far they go."""
        events: list[ChangeEvent] = []
        cursor = since_lsn
        for entry in self._catalog.journal(since_lsn, ENTRIES_AT_ONCE):
            if len(events) >= limit:
                break
            if entry.position > cursor + 1:
                # Entries in between were pruned, so their events are gone.
                if cursor == since_lsn:
                    raise self._lost(since_lsn, entry.position - 1, may_read)
                break
            if not may_read(entry.stream_table):
                cursor = entry.last
                continue
            try:
                events += self._events(entry, cursor + 1 - entry.position, limit - len(events))
            except PenstockError as error:
                if cursor > since_lsn:
                    break
                if error.retry is Retry.BACKOFF:
                    raise
                # A commit that no trying again makes readable must not stand between its reader and all others.
                if not isinstance(error, NotRetained):
                    self._tell(entry.stream_table, error)
                raise self._lost(since_lsn, entry.last, may_read) from error
            cursor = events[-1].lsn
        if cursor == since_lsn:
            raise self._lost(since_lsn, since_lsn, may_read)
        return events, cursor

    def _lost(self, since_lsn: int, gone: int, may_read: MayRead) -> NotRetained:
        """The event after a position cannot be read, and none is known to be readable up to `gone`."""
        earliest = None
        while earliest is None and (entries := self._catalog.journal(gone, ENTRIES_AT_ONCE)):
            readable = (entry.position for entry in entries if self._is_readable(entry, may_read))
            earliest, gone = next(readable, None), entries[-1].last
        if earliest is None:
            earliest = self._catalog.last_position() + 1
        return NotRetained(what=f"LSN {since_lsn + 1}", name=EVERYTHING, earliest=earliest, earliest_lsn=earliest)

    def _is_readable(self, entry: JournalEntry, may_read: MayRead) -> bool:
        table = self._tables.get(entry.table_id)
        try:
            return not may_read(entry.stream_table) or (table is not None and table.changelog.keeps(entry.version))
        except PenstockError as error:
            return error.retry is Retry.BACKOFF

    def _events(self, entry: JournalEntry, first: int, limit: int) -> list[ChangeEvent]:
        changes = self._changes(entry)
        events: list[ChangeEvent] = []
        lsn, moment = entry.position + first, milliseconds(changes.committed_at)
        for batch in ring_batches(changes, first, min(limit, entry.events - first)):
            events += Run(lsn, moment, batch, 0, batch.count).events()
            lsn += batch.count
        return events

    def _changes(self, entry: JournalEntry) -> CommitChanges:
        place = entry.table_id, entry.version
        kept = self._kept.get(place)
        if kept is not None:
            return kept
        table = self._table(entry)
        try:
            found = table.changelog.changes(table.changelog.entry(entry.version))
        except SourceMissing:
            raise _gone(entry) from None
        self._kept.put(place, found)
        return found

    def _table(self, entry: JournalEntry) -> _Table:
        if entry.table_id not in self._tables:
            # Another process may have journaled a commit of a table that is new to this one.
            with self._turn:
                self._asked_at = float("-inf")
                self._find_tables()
        table = self._tables.get(entry.table_id)
        if table is None:
            raise _gone(entry)
        return table


def _gone(entry: JournalEntry) -> NotRetained:
    """The whole table is."""
    return NotRetained(what=f"version {entry.version}", name=entry.stream_table, earliest="none")
