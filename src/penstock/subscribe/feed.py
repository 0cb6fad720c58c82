"""One thread that watches the logs of all followed stream tables and wakes their subscribers.

A log is watched by asking for its next commit's file, which costs microseconds; so it makes no difference whether this
process refreshes the table or another one does. The feed reads a commit's rows
once, before it wakes its followers. Each of them receives the same notice of the commit (`commit_notice.py`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from penstock.engine.changelog.changelog import Changelog
from penstock.errors import PenstockError, Retry, SubscriptionEnded
from penstock.subscribe.commit_notice import CommitNotice
from penstock.subscribe.table_feed import TableFeed
from penstock.subscribe.warn_once import WarnOnce

POLL_SECONDS = 0.02
"""Time between two looks for new commits."""

PROGRESS_SECONDS = 1.0
"""Time between two questions to the catalog for the moments that unchanged tables stand for."""

_log = logging.getLogger("penstock.subscribe")


class Follower(Protocol):
    """Receives notices of commits."""

    wants_progress: bool

    def arrived(self, notices: list[CommitNotice]) -> None:
        """Commits came; called in their order, never twice at the same time."""

    def progressed(self, moment: datetime) -> None:
        """The table stands for this moment, and every commit up to it has arrived."""

    def failed(self, error: PenstockError) -> None:
        """The table cannot be followed any more."""

    def cancel(self) -> bool:
        """Nothing more will come, because the warehouse is closed."""


class Feed:
    """The stream tables that this process follows, by the folders of their storages."""

    def __init__(self, moment_of: Callable[[str], datetime | None]) -> None:
        self._moment_of = moment_of
        self._tables: dict[str, TableFeed] = {}
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._trouble = WarnOnce(_log, "cannot read the log of %s now: %s")

    def follow(self, changelog: Changelog, follower: Follower, since: int) -> TableFeed:
        """Send the follower a notice of every commit after a version, each once."""
        while True:
            with self._lock:
                if self._closed.is_set():
                    raise SubscriptionEnded(name=changelog.name, why="the warehouse is closed", position="…")
                table = self._tables.get(changelog.root)
                if table is None:
                    table = self._tables[changelog.root] = TableFeed(changelog)
            with table.turn:
                if table.is_over:
                    # Its last follower left, or it is gone: try again with a new one.
                    self._forget(table)
                    continue
                self._poll(table, raising=True)
                follower.arrived(table.notices(table.after(since)))
                with self._lock:
                    table.followers.append(follower)
                    if self._thread is None and not self._closed.is_set():
                        self._thread = threading.Thread(target=self._run, name="penstock-feed", daemon=True)
                        self._thread.start()
                return table

    def leave(self, follower: Follower) -> None:
        """Send the follower nothing more; does not wait for a notice on its way."""
        with self._lock:
            for table in self._tables.values():
                if follower in table.followers:
                    table.followers.remove(follower)

    def close(self) -> None:
        """Stop watching, and end every follower."""
        self._closed.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self._lock:
            tables = list(self._tables.values())
        for table in tables:
            for follower in self._following(table):
                follower.cancel()

    def _forget(self, table: TableFeed) -> None:
        """Follow a table no longer; the caller holds its turn."""
        table.is_over = True
        with self._lock:
            if self._tables.get(table.changelog.root) is table:
                del self._tables[table.changelog.root]

    def _run(self) -> None:
        asked = time.monotonic()
        while not self._closed.wait(POLL_SECONDS):
            with self._lock:
                if not self._tables:
                    # The next follower finds no thread, and starts one.
                    self._thread = None
                    return
                tables = list(self._tables.values())
            moments: dict[str, datetime] = {}
            if time.monotonic() - asked > PROGRESS_SECONDS:
                asked = time.monotonic()
                moments = self._moments(tables)
            for table in tables:
                with table.turn:
                    if not self._following(table):
                        self._forget(table)
                    elif not table.is_over:
                        self._poll(table)
                        self._report_progress(table, moments.get(table.name))

    def _poll(self, table: TableFeed, raising: bool = False) -> None:
        """Send notices of new commits to the followers; the caller holds the table's turn.

        An error that may pass is left for the next time. With `raising` any other error is raised, too.
        """
        try:
            fresh = table.new_commits()
        except PenstockError as error:
            if error.retry is Retry.BACKOFF:
                self._trouble.warn(table.name, error)
                return
            self._forget(table)
            for follower in self._following(table):
                follower.failed(error)
            if raising:
                raise
            return
        except Exception as error:
            # One table that cannot be read must not keep the others waiting.
            self._trouble.warn(table.name, error)
            return
        if fresh and (followers := self._following(table)):
            # What cannot be read now is read again when a follower asks for it, who then gets the error.
            with suppress(Exception):
                for entry in fresh:
                    if entry.record.lsn_count:
                        table.changes(entry)
            notices = table.notices(fresh)
            for follower in followers:
                follower.arrived(notices)

    def _following(self, table: TableFeed) -> list[Follower]:
        with self._lock:
            return list(table.followers)

    def _moments(self, tables: list[TableFeed]) -> dict[str, datetime]:
        """The moments that tables stand for.

        They are asked for before the logs are read, so no commit up to them is still to come.
        """
        found: dict[str, datetime] = {}
        for table in tables:
            if not any(each.wants_progress for each in self._following(table)):
                continue
            try:
                moment = self._moment_of(table.name)
            except PenstockError as error:
                self._trouble.warn(table.name, error)
                continue
            if moment is not None:
                found[table.name] = moment
        return found

    def _report_progress(self, table: TableFeed, moment: datetime | None) -> None:
        if moment is not None:
            for follower in self._following(table):
                if follower.wants_progress:
                    follower.progressed(moment)
