"""Reading what is due for one subscriber.

One thread reads at a time, and the subscription stays usable meanwhile. What cannot be read is due again. What was read
is kept until the subscriber takes it, even if the subscriber has stopped waiting for it. Who takes an item event by
event takes it when they are made.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Literal

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.subscribe.commit_notice import CommitNotice
from penstock.subscribe.event_queue import LinedUp, lined_up
from penstock.subscribe.inbox import Due, Inbox
from penstock.subscribe.position import Fetched, Position
from penstock.subscribe.signal import Signal
from penstock.subscribe.table_feed import TableFeed

Delivery = Literal["every", "net"]
"""Each commit by itself, or all that wait as one change."""

Choose = Callable[[CommitChanges], CommitChanges]


class Fetcher:
    """The next item of one subscriber."""

    def __init__(
        self,
        table: TableFeed,
        signal: Signal,
        inbox: Inbox,
        position: Position,
        choose: Choose,
        delivery: Delivery,
        is_active: Callable[[], bool],
    ) -> None:
        self._table, self._signal, self._inbox, self._position = table, signal, inbox, position
        self._choose, self._is_net = choose, delivery == "net"
        self._is_active = is_active
        self._fetched: Fetched | None = None
        self._events: Sequence[LinedUp] | None = None
        """Those of the item that waits to be taken, once they are made."""
        self._ahead: list[CommitNotice] = []
        """Commits after those that wait in the inbox, if it has no room for them."""
        self._reading = threading.Lock()

    def has_item(self) -> bool:
        """True if an item was read and waits to be taken; the caller holds the signal."""
        return self._fetched is not None

    def take(self) -> Fetched | None:
        """The item that was read; the caller holds the signal."""
        fetched, self._fetched, self._events = self._fetched, None, None
        return fetched

    def events(self) -> Sequence[LinedUp] | None:
        """The events of the item that waits to be taken, if they are made; the caller holds the signal."""
        return self._events

    async def fetch_async(self, one_by_one: bool = False) -> None:
        """Read the next item without blocking the event loop."""
        if self._is_at_hand():
            self.fetch(one_by_one)
        else:
            # If the coroutine is cancelled meanwhile, the thread still keeps what it reads.
            await asyncio.to_thread(self.fetch, one_by_one)

    def fetch(self, one_by_one: bool = False) -> None:
        """Read the next item, if there is one and none waits to be taken; `one_by_one` makes its events, too."""
        self._fetch()
        if one_by_one:
            self._line_up()

    def _fetch(self) -> None:
        with self._reading:
            with self._signal:
                if not self._may_read():
                    return
                must_catch_up = self._inbox.must_catch_up()
                due = Due() if must_catch_up else self._inbox.take(self._position.lsn if self._is_net else None)
            if must_catch_up:
                self._catch_up()
                return
            try:
                fetched = self._read(due)
            except BaseException:
                with self._signal:
                    self._inbox.put_back(due)
                raise
            with self._signal:
                if isinstance(fetched.item, int) or fetched.item:
                    self._fetched = fetched
                else:
                    # Nothing of it was chosen.
                    self._position.advance(fetched)

    def _line_up(self) -> None:
        with self._reading:
            with self._signal:
                fetched, before = self._fetched, self._position.lsn
                if fetched is None or self._events is not None:
                    return
            # What cannot be made is made by the next call, and commits arrive meanwhile: the signal is free.
            events = lined_up(fetched.item, before, together=self._is_net)
            with self._signal:
                if self._fetched is fetched:
                    self._events = events

    def _may_read(self) -> bool:
        return self._fetched is None and self._is_active() and self._inbox.is_due()

    def _is_at_hand(self) -> bool:
        """True if the next item is in memory, so that reading it does not block."""
        with self._signal:
            if not self._may_read():
                return True
            if self._is_net or self._inbox.has_snapshot() or self._inbox.must_catch_up():
                return False
            first = self._inbox.first()
            return first is None or self._table.has(first.version)

    def _read(self, due: Due) -> Fetched:
        if due.moment is not None:
            return Fetched(due.moment, self._position.lsn, self._position.version)
        if due.snapshot is not None:
            changes, version = self._table.changelog.whole(due.snapshot), due.snapshot.version
        else:
            entries = [self._table.entry(notice.version) for notice in due.notices]
            version = entries[-1].version
            if len(entries) == 1:
                changes = self._table.changes(entries[0])
            else:
                changes = self._table.changelog.net(self._position.version, entries)
            changes = changes.after(self._position.lsn)
        return Fetched(self._choose(changes), changes.last_lsn, version, due.snapshot is not None)

    def _catch_up(self) -> None:
        """Let commits wait that there was no room for when they came."""
        # The log is walked from its end, so what it shows is kept; and holding the turn stops the whole feed.
        self._look_ahead()
        with self._table.turn:
            self._look_ahead()
            with self._signal:
                self._ahead = self._inbox.catch_up(self._ahead)

    def _look_ahead(self) -> None:
        last = self._ahead[-1].version if self._ahead else self._position.version
        self._ahead += self._table.notices(self._table.after(last))
