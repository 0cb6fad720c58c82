"""The newest commits of one stream table, read once for all its followers.

The feed remembers commits without their rows. It reads rows when a follower asks for them, and keeps them by reference
while there is room. A follower that is further behind reads the table's own log, so forgetting loses nothing.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import milliseconds
from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.errors import SourceMissing, StreamTableGone
from penstock.subscribe.commit_notice import CommitNotice
from penstock.subscribe.kept_commits import KeptCommits

if TYPE_CHECKING:
    from penstock.subscribe.feed import Follower

KEPT_COMMITS = 4096
"""The most commits to remember without their rows."""


class TableFeed:
    """One stream table as its subscribers see it."""

    def __init__(self, changelog: Changelog) -> None:
        self.changelog = changelog
        self.head = changelog.newest()
        self._seen = max(changelog.latest_version(), self.head.version)
        self._identity = self.head.record.stream_table_id
        self._recent: list[Entry] = []
        self._since = self.head.version
        # For subscribers that have not read them yet.
        self._rows: KeptCommits[int] = KeptCommits()
        self._lock = threading.RLock()
        self.followers: list[Follower] = []
        """The feed adds and removes them."""
        self.is_over = False
        """True when no thread reads its log any more."""
        self.turn = threading.RLock()
        """Held while followers receive notices, and while one more begins: so each receives each commit once."""
        self._reading: dict[int, threading.Event] = {}

    @property
    def name(self) -> str:
        """The stream table's name."""
        return self.changelog.name

    def new_commits(self) -> list[Entry]:
        """Commits of ours since the last call, oldest first."""
        try:
            latest = self.changelog.latest_version()
        except SourceMissing:
            raise StreamTableGone(name=self.name, why="its storage is gone") from None
        if latest == self._seen:
            return []
        if latest < self._seen or self.changelog.newest().record.stream_table_id != self._identity:
            raise StreamTableGone(name=self.name, why="it was dropped and created again")
        with self._lock:
            fresh = self.changelog.after_version(self.head.version)
            if fresh:
                self.head = fresh[-1]
                self._recent.extend(fresh)
                if (surplus := len(self._recent) - KEPT_COMMITS) > 0:
                    self._since = self._recent[surplus - 1].version
                    del self._recent[:surplus]
            self._seen = latest
        return fresh

    def after(self, version: int) -> list[Entry]:
        """The commits after a version that have been seen so far, oldest first."""
        with self._lock:
            if version >= self._since:
                return [entry for entry in self._recent if entry.version > version]
            head = self.head.version
        return [entry for entry in self.changelog.after_version(version) if entry.version <= head]

    def notices(self, entries: Sequence[Entry]) -> list[CommitNotice]:
        """The notices of these commits."""
        return [
            CommitNotice(
                version=entry.version,
                last_lsn=entry.last_lsn,
                events=entry.record.lsn_count,
                moment=milliseconds(entry.record.data_timestamp or self.changelog.committed_at(entry)),
            )
            for entry in entries
        ]

    def entry(self, version: int) -> Entry:
        """The commit of this version."""
        with self._lock:
            at = bisect_left(self._recent, version, key=lambda entry: entry.version)
            if at < len(self._recent) and self._recent[at].version == version:
                return self._recent[at]
        return self.changelog.entry(version)

    def has(self, version: int) -> bool:
        """True if the commit's rows are at hand."""
        return version in self._rows

    def changes(self, entry: Entry) -> CommitChanges:
        """The commit's events; read once, however many ask at the same time."""
        return self._once(entry.version, lambda: self.changelog.changes(entry))

    def _once(self, version: int, read: Callable[[], CommitChanges]) -> CommitChanges:
        while True:
            with self._lock:
                found = self._rows.get(version)
                if found is not None:
                    return found
                under_way = self._reading.get(version)
                if under_way is None:
                    self._reading[version] = threading.Event()
                    break
            under_way.wait()
        try:
            found = read()
            self._rows.put(version, found)
            return found
        finally:
            with self._lock:
                self._reading.pop(version).set()
