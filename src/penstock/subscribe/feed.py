"""One thread that watches the logs of all followed stream tables and wakes their subscribers.

A log is watched by asking for its next commit's file, which costs microseconds; so it makes no difference whether this
process refreshes the table or another one does. A commit's rows are read here, once, before anybody is woken; what goes
to each subscriber is a notification of 64 bytes, the same for all.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Protocol

from penstock.changes.notification_ref import NotificationRef
from penstock.engine.changelog import Changelog
from penstock.errors import PenstockError, Retry
from penstock.subscribe.table_feed import TableFeed

LOOK_SECONDS = 0.02
"""Between two looks at the logs."""

PROGRESS_SECONDS = 1.0
"""Between two questions to the catalog how far tables got without a change."""

_log = logging.getLogger("penstock.subscribe")


class Follower(Protocol):
    """Who is woken when something was committed."""

    wants_progress: bool

    def arrived(self, news: list[NotificationRef]) -> None:
        """Commits came; called in their order, never twice at the same time."""

    def progressed(self, moment: datetime) -> None:
        """The table stands for this moment, without a commit."""

    def failed(self, error: PenstockError) -> None:
        """The table cannot be followed any more."""


class Feed:
    """The stream tables that this process follows."""

    def __init__(self, moment_of: Callable[[str], datetime | None]) -> None:
        self._moment_of = moment_of
        self._tables: dict[str, TableFeed] = {}
        self._followers: dict[str, list[Follower]] = {}
        self._joining: Counter[str] = Counter()
        self._numbers = count(1)
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, changelog: Changelog, follower: Follower, since: int) -> TableFeed:
        """The follower hears of every commit after a version, those that are there at once, and of none twice."""
        name = changelog.name
        with self._lock:
            table = self._tables.get(name)
            if table is None:
                table = self._tables[name] = TableFeed(changelog, next(self._numbers))
            self._joining[name] += 1
        try:
            with table.turn:
                self._look(table)
                follower.arrived(table.news(table.after(since)))
                with self._lock:
                    self._followers.setdefault(name, []).append(follower)
        finally:
            with self._lock:
                self._joining[name] -= 1
                self._forget(name)
                if self._thread is None and self._followers and not self._closed.is_set():
                    self._thread = threading.Thread(target=self._run, name="penstock-feed", daemon=True)
                    self._thread.start()
        return table

    def leave(self, name: str, follower: Follower) -> None:
        """The follower hears of nothing more."""
        with self._lock:
            followers = self._followers.get(name, [])
            if follower in followers:
                followers.remove(follower)
            self._forget(name)

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _forget(self, name: str) -> None:
        """Let go of a table that nobody follows; under the lock."""
        if not self._followers.get(name) and not self._joining[name]:
            self._followers.pop(name, None)
            self._tables.pop(name, None)

    def _run(self) -> None:
        asked = time.monotonic()
        while not self._closed.wait(LOOK_SECONDS):
            with self._lock:
                if not self._followers:
                    # Whoever comes next finds no thread, and starts one.
                    self._thread = None
                    return
                tables = list(self._tables.values())
            for table in tables:
                with table.turn:
                    self._look(table)
            if time.monotonic() - asked > PROGRESS_SECONDS:
                asked = time.monotonic()
                self._tell_progress(tables)

    def _look(self, table: TableFeed) -> None:
        """Find what is new and tell the followers; in this table's turn."""
        try:
            fresh = table.look()
        except PenstockError as error:
            if error.retry is Retry.BACKOFF:
                return
            with self._lock:
                self._tables.pop(table.name, None)
            for follower in self._following(table):
                follower.failed(error)
            return
        if fresh and (followers := self._following(table)):
            # What cannot be read now is read, and its error told, when a follower asks for it.
            with suppress(PenstockError):
                for entry in fresh:
                    if entry.record.lsn_count:
                        table.changes(entry)
            news = table.news(fresh)
            for follower in followers:
                follower.arrived(news)

    def _following(self, table: TableFeed) -> list[Follower]:
        with self._lock:
            return list(self._followers.get(table.name, ()))

    def _tell_progress(self, tables: list[TableFeed]) -> None:
        for table in tables:
            waiting = [each for each in self._following(table) if each.wants_progress]
            if not waiting:
                continue
            try:
                moment = self._moment_of(table.name)
            except PenstockError as error:
                _log.warning("how far %s has got cannot be told: %s", table.name, error.text)
                continue
            for follower in waiting if moment is not None else ():
                assert moment is not None
                follower.progressed(moment)
