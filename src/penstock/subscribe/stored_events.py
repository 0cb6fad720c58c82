"""Events of all stream tables read back from the tables themselves, by their positions in the journal.

Only what a table no longer holds is lost: `NotRetained`, with the next position that can be read. What cannot be read
for the moment is an error of its own, and is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.catalog.model import JournalEntry
from penstock.catalog.reader import CatalogReader
from penstock.changes.ring.ring_batches import ring_batches
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.ring.run import Run
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import milliseconds
from penstock.errors import NotRetained, PenstockError, Retry, SourceMissing
from penstock.subscribe.followed_tables import FollowedTables, table_gone
from penstock.subscribe.kept_commits import KeptCommits
from penstock.subscribe.warn_once import WarnOnce

ENTRIES_AT_ONCE: Final = 64
EVERYTHING: Final = "the changes of all stream tables"

MayRead = Callable[[str], bool]


class StoredEvents:
    """Safe to use from any number of threads."""

    def __init__(self, catalog: CatalogReader, tables: FollowedTables, trouble: WarnOnce) -> None:
        self._catalog, self._tables, self._trouble = catalog, tables, trouble
        # For readers that take a commit page by page.
        self._kept: KeptCommits[tuple[str, int]] = KeptCommits()

    def page(self, since_lsn: int, limit: int, may_read: MayRead) -> tuple[list[ChangeEvent], int]:
        """At most `limit` events after a position, and the position that they reach."""
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
                # A commit that will never be readable must not keep its reader from those behind it.
                if not isinstance(error, NotRetained):
                    self._trouble.warn(entry.stream_table, error)
                raise self._lost(since_lsn, entry.last, may_read) from error
            cursor = events[-1].lsn
        if cursor == since_lsn:
            raise self._lost(since_lsn, since_lsn, may_read)
        return events, cursor

    def changes(self, entry: JournalEntry) -> CommitChanges:
        """All events of a journaled commit."""
        commit = entry.table_id, entry.version
        found = self._kept.get(commit)
        if found is None:
            changelog = self._tables.of(entry)
            try:
                found = changelog.changes(changelog.entry(entry.version))
            except SourceMissing:
                raise table_gone(entry) from None
            self._kept.put(commit, found)
        return found

    def _events(self, entry: JournalEntry, first: int, limit: int) -> list[ChangeEvent]:
        changes = self.changes(entry)
        events: list[ChangeEvent] = []
        lsn, moment = entry.position + first, milliseconds(changes.committed_at)
        for batch in ring_batches(changes, first, min(limit, entry.events - first)):
            events += Run(lsn, moment, batch, 0, batch.count).events()
            lsn += batch.count
        return events

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
        changelog = self._tables.find(entry.table_id)
        try:
            return not may_read(entry.stream_table) or (changelog is not None and changelog.keeps(entry.version))
        except PenstockError as error:
            return error.retry is Retry.BACKOFF
