"""The changelogs of all stream tables, and which of their commits have their places in the journal.

The catalog is asked for its tables once a second. A table that cannot be read is left alone for a while, and keeps no
other waiting.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final

from penstock.catalog.model import JournalEntry
from penstock.catalog.writer import CatalogWriter
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.run.workspace import Logs
from penstock.errors import NotRetained, PenstockError
from penstock.subscribe.journal import catch_up, prune
from penstock.subscribe.warn_once import WarnOnce

TABLES_SECONDS: Final = 1.0
"""Time between two questions to the catalog for its stream tables, and until a table that failed is tried again."""


@dataclass(slots=True)
class _Table:
    changelog: Changelog
    journaled: int | None = None
    """The newest version whose commits have their places."""
    rests_until: float = 0.0


class FollowedTables:
    """All but `find` and `of` are called by one thread at a time, which holds `turn`."""

    def __init__(self, catalog: CatalogWriter, logs: Logs, trouble: WarnOnce) -> None:
        self._catalog, self._logs, self._trouble = catalog, logs, trouble
        self._tables: dict[str, _Table] = {}
        self._looked_up_at = float("-inf")
        self.turn = threading.RLock()

    def find(self, table_id: str) -> Changelog | None:
        """The changelog of a table that is followed."""
        table = self._tables.get(table_id)
        return None if table is None else table.changelog

    def of(self, entry: JournalEntry) -> Changelog:
        """The changelog that a journaled commit lies in; `NotRetained` if its table is gone."""
        if entry.table_id not in self._tables:
            # Another process may have journaled a commit of a table that is new to this one.
            with self.turn:
                self.forget_lookup()
                self._look_up()
        changelog = self.find(entry.table_id)
        if changelog is None:
            raise table_gone(entry)
        return changelog

    def forget_lookup(self) -> None:
        """Ask the catalog for its tables the next time, however short ago it was asked."""
        self._looked_up_at = float("-inf")

    def journal(self) -> bool:
        """Give new commits their places; True if a table has a new version."""
        self._look_up()
        moved: dict[str, int] = {}
        failed: dict[str, PenstockError] = {}
        now = time.monotonic()
        for table_id, table in self._tables.items():
            if table.rests_until > now:
                continue
            try:
                latest = table.changelog.latest_version()
            except PenstockError as error:
                failed[table_id] = error
                continue
            if latest != table.journaled:
                moved[table_id] = latest
        if moved:
            failed |= catch_up(self._catalog, {each: self._tables[each].changelog for each in moved})
        for table_id in moved.keys() - failed.keys():
            self._tables[table_id].journaled = moved[table_id]
        if failed:
            self._rest(failed)
        return bool(moved)

    def prune_journal(self) -> None:
        """Drop the entries of commits that can no longer be read."""
        prune(self._catalog, {table_id: table.changelog for table_id, table in self._tables.items()})

    def _look_up(self) -> None:
        if time.monotonic() - self._looked_up_at < TABLES_SECONDS:
            return
        found = {meta.table_id: meta for meta in self._catalog.get_all()}
        self._looked_up_at = time.monotonic()
        held = {table_id: table for table_id, table in self._tables.items() if table_id in found}
        for table_id, meta in found.items():
            if table_id in held:
                continue
            try:
                held[table_id] = _Table(Changelog(str(meta.name), self._logs.at(meta.path)))
            except PenstockError as error:
                # Its storage does not answer; it is tried again with the next question.
                self._trouble.warn(str(meta.name), error)
        self._tables = held

    def _rest(self, failed: dict[str, PenstockError]) -> None:
        """Leave these tables alone for a while, because they cannot be read now."""
        self.forget_lookup()
        self._look_up()
        for table_id, error in failed.items():
            # One that was dropped has left the catalog, and there is nothing to warn of.
            if (table := self._tables.get(table_id)) is not None:
                table.rests_until = time.monotonic() + TABLES_SECONDS
                self._trouble.warn(table.changelog.name, error)


def table_gone(entry: JournalEntry) -> NotRetained:
    """The error for a commit whose table is gone as a whole."""
    return NotRetained(what=f"version {entry.version}", name=entry.stream_table, earliest="none")
