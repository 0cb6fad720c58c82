"""The journal: the commits of all stream tables in one order, kept in the catalog.

    order       commit time, then table; within a table always its versions, also where a clock was set back
    positions   dense: every event has one, and no event gets two, whichever process assigns them

A commit whose log entry was cleaned away before it was journaled takes its places all the same, so that a reader who
asks for them learns of the loss. Any number of processes may do this at the same time: each proposes the commits that
it misses, and the catalog takes those that it does not have yet, in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from penstock.catalog.model import JournalEntry
from penstock.catalog.reader import CatalogReader
from penstock.catalog.writer import CatalogWriter
from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.errors import FrontierLost, PenstockError

ENTRIES_AT_ONCE = 256
"""Entries that are read together when old ones are pruned."""

_NO_VERSION = -1
_Missing = tuple[datetime, JournalEntry]
"""A commit without a place, and the moment by which it is put in order."""


def catch_up(catalog: CatalogWriter, changelogs: Mapping[str, Changelog]) -> dict[str, PenstockError]:
    """Give every commit of these tables (id → changelog) its place that has none yet; tables that could not be read."""
    held = catalog.journaled()
    missing: list[_Missing] = []
    failed: dict[str, PenstockError] = {}
    for table_id, changelog in changelogs.items():
        try:
            missing += _missing(table_id, changelog, held.get(table_id))
        except PenstockError as error:
            # One table that cannot be read does not keep the others waiting.
            failed[table_id] = error
    if missing:
        missing.sort(key=lambda found: (found[0], found[1].table_id, found[1].version))
        catalog.append_journal([entry for _, entry in missing])
    return failed


def _missing(table_id: str, changelog: Changelog, newest: JournalEntry | None) -> list[_Missing]:
    found: list[_Missing] = []
    latest: datetime | None = None
    for entry in _after(changelog, _NO_VERSION if newest is None else newest.version):
        moment = changelog.committed_at(entry)
        latest = moment if latest is None else max(latest, moment)
        if newest is not None and not found and (lost := _lost(newest, entry)) is not None:
            found.append((latest, lost))
        if entry.record.lsn_count:
            first, count = entry.record.first_lsn, entry.record.lsn_count
            found.append((latest, JournalEntry(0, count, table_id, changelog.name, entry.version, first)))
    return found


def _after(changelog: Changelog, version: int) -> list[Entry]:
    """Our commits after a version that the log still has, oldest first."""
    found: list[Entry] = []
    # What was cleaned away while it is read is among the lost.
    with suppress(FrontierLost):
        for entry in changelog.newest_first():
            if entry.version <= version:
                break
            found.append(entry)
    return found[::-1]


def _lost(newest: JournalEntry, following: Entry) -> JournalEntry | None:
    """The events between the newest journaled commit and the next that there is, as one commit that cannot be read."""
    expected = newest.first_lsn + newest.events
    events, version = following.record.first_lsn - expected, following.version - 1
    if events <= 0 or version <= newest.version:
        return None
    return JournalEntry(0, events, newest.table_id, newest.stream_table, version, expected)


def prune(catalog: CatalogWriter, changelogs: Mapping[str, Changelog]) -> int:
    """Drop each table's oldest entries whose commits can no longer be read; return how many.

    Reads on until a stretch has none of them. A table's newest entry stays: it records which commits have their
    places. A table that cannot be asked now keeps all its entries.
    """
    newest = {table_id: entry.version for table_id, entry in catalog.journaled().items()}
    ends: dict[str, int] = {}
    kept: set[str] = set()
    for stretch in _stretches(catalog):
        gone = False
        for entry in stretch:
            if entry.table_id in kept or entry.version >= newest.get(entry.table_id, 0):
                continue
            if _is_readable(entry, changelogs.get(entry.table_id)):
                kept.add(entry.table_id)
                continue
            ends[entry.table_id] = entry.version + 1
            gone = True
        if not gone:
            break
    return sum(catalog.prune_journal(table_id, end) for table_id, end in ends.items())


def _stretches(catalog: CatalogReader) -> Iterator[list[JournalEntry]]:
    after = 0
    while stretch := catalog.journal(after, ENTRIES_AT_ONCE):
        yield stretch
        after = stretch[-1].last


def _is_readable(entry: JournalEntry, changelog: Changelog | None) -> bool:
    try:
        return changelog is not None and changelog.keeps(entry.version)
    except PenstockError:
        # Its storage may be away for the moment, and what is dropped here never comes back.
        return True
