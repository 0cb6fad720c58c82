"""One subscriber: its position in a changelog, and what it receives next.

    delivered  =  the events after the start, in order, each once            policies that keep all
                  the same without those that were counted as dropped        policies that drop

A subscription holds no rows: commits wait for it as notices (`inbox.py`), and the rows are shared with all who follow
the same table (`fetch.py`). `every` delivers each commit by itself, `net` all that wait as one change, without
rows that came and went again. Its reader acknowledges positions; a durable subscription begins there the next time.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import TracebackType

from penstock.arguments import checked
from penstock.changes.wire.change_event import ChangeEvent
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import milliseconds
from penstock.engine.changelog.changelog import Changelog
from penstock.errors import InvalidValue, PenstockError, SubscriptionEnded
from penstock.subscribe.backpressure import Policy
from penstock.subscribe.commit_notice import CommitNotice
from penstock.subscribe.event_queue import EventQueue
from penstock.subscribe.feed import Feed
from penstock.subscribe.fetch import Choose, Delivery, Fetcher
from penstock.subscribe.inbox import Inbox
from penstock.subscribe.position import Item, Position
from penstock.subscribe.signal import Signal
from penstock.subscribe.start import Point

__all__ = ["Choose", "Delivery", "Item", "State", "Subscription", "SubscriptionMetrics"]

_ids = itertools.count(1)


class State(StrEnum):
    """Whether a subscription delivers."""

    ACTIVE = "active"
    PAUSED = "paused"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class SubscriptionMetrics:
    """Position, counts and age of a subscription."""

    id: str
    stream_table: str
    state: str
    position: int
    delivered: int
    """Events delivered so far."""
    dropped: int
    """Events dropped so far."""
    lag: int
    """Events between its position and the table's newest."""
    age_seconds: float


@checked
class Subscription:
    """Iterate it, or ask it with `next`; `async for` works too. Use it as a context manager, or cancel it."""

    def __init__(
        self,
        feed: Feed,
        changelog: Changelog,
        point: Point,
        *,
        choose: Choose,
        policy: Policy,
        buffer: int = 1024,
        delivery: Delivery = "every",
        progress: bool = False,
        name: str | None = None,
        acknowledge: Callable[[int], None] | None = None,
    ) -> None:
        if buffer < 1:
            raise InvalidValue(what="buffer", value=buffer, allowed="a whole number from 1 on")
        if delivery not in ("every", "net"):
            raise InvalidValue(what="delivery", value=delivery, allowed="every, net")
        if delivery == "net" and not policy.keeps_all:
            raise InvalidValue(what="policy", value=policy.kind, allowed="block, demand: a net change is complete")
        self.id = name or f"sub-{next(_ids)}"
        self.stream_table = changelog.name
        self.wants_progress = progress
        self.state = State.ACTIVE
        self._feed, self._policy = feed, policy
        self._acknowledge = acknowledge
        self._error: PenstockError | None = None
        self._began_at = time.monotonic()
        self._signal = Signal()
        """Guards the state and all below."""
        self._inbox = Inbox(point, policy, buffer, with_progress=progress)
        self._position = Position(point)
        self._events = EventQueue()
        self._table = feed.follow(changelog, self, point.version)
        self._fetcher = Fetcher(
            self._table, self._signal, self._inbox, self._position, choose, delivery, lambda: self.state is State.ACTIVE
        )

    @property
    def position(self) -> int:
        """Everything up to this LSN was delivered, dropped or not chosen."""
        return self._position.lsn

    @property
    def version(self) -> int:
        """The version of the stream table that the position lies in."""
        return self._position.version

    @property
    def delivered(self) -> int:
        """Events delivered so far."""
        return self._position.delivered

    @property
    def head(self) -> int:
        """The newest position of the stream table that this process has seen."""
        return self._inbox.newest

    @property
    def dropped(self) -> int:
        """Events dropped so far."""
        return self._inbox.dropped

    def metrics(self) -> SubscriptionMetrics:
        """Its position, counts and age now."""
        with self._signal:
            return SubscriptionMetrics(
                id=self.id,
                stream_table=self.stream_table,
                state=self.state.value,
                position=self.position,
                delivered=self.delivered,
                dropped=self.dropped,
                lag=max(0, self.head - self.position),
                age_seconds=time.monotonic() - self._began_at,
            )

    # -- asking

    def __iter__(self) -> Iterator[ChangeEvent]:
        while (event := self.next()) is not None:
            yield event

    def next(self, timeout: float | None = None) -> ChangeEvent | None:
        """The next event; None when `timeout` seconds have passed without one, or the subscription was cancelled.

        What cannot be read is not skipped: the error is raised, and the next call tries again.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._signal.wait(self._has_event, deadline):
            event = self._take_event()
            if event is not None:
                return event
            self._fetcher.fetch(one_by_one=True)
            self._line_up()
        return None

    def next_commit(self, timeout: float | None = None) -> CommitChanges | None:
        """The next commit's events together; None as for `next`. Do not mix the two on one subscription."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._signal.wait(self._has_item, deadline):
            self._fetcher.fetch()
            item = self._take_item()
            if isinstance(item, CommitChanges):
                return item
        return None

    def commits(self) -> Iterator[CommitChanges]:
        """Commit by commit, until the subscription is cancelled."""
        while (changes := self.next_commit()) is not None:
            yield changes

    def __aiter__(self) -> AsyncIterator[ChangeEvent]:
        return self._events_async()

    async def _events_async(self) -> AsyncIterator[ChangeEvent]:
        while await self._signal.wait_async(self._has_event):
            event = self._take_event()
            if event is not None:
                yield event
                continue
            await self._fetcher.fetch_async(one_by_one=True)
            self._line_up()

    async def commits_async(self) -> AsyncIterator[CommitChanges]:
        """Commit by commit, without ever blocking the event loop."""
        async for item in self.items_async():
            if isinstance(item, CommitChanges):
                yield item

    async def items_async(self) -> AsyncIterator[Item]:
        """Commit by commit, and with `progress` the moments that the table stands for."""
        while await self._signal.wait_async(self._has_item):
            await self._fetcher.fetch_async()
            item = self._take_item()
            if item is not None:
                yield item

    # -- steering

    def pause(self) -> bool:
        """Deliver nothing until `resume`; False if the subscription was not active."""
        return self._change(State.ACTIVE, State.PAUSED)

    def resume(self) -> bool:
        """Go on where `pause` stopped; False if the subscription was not paused."""
        return self._change(State.PAUSED, State.ACTIVE)

    def cancel(self) -> bool:
        """End it, and wake its waiting readers without an event; False if it had ended already."""
        with self._signal:
            if self.state is State.CANCELLED:
                return False
            self.state = State.CANCELLED
            self._events.clear()
            self._signal.notify()
        self._feed.leave(self)
        return True

    def request(self, commits: int) -> None:
        """Ask for this number of further commits; only with the policy `demand`."""
        if self._policy.kind != "demand" or commits < 1:
            raise InvalidValue(what="request", value=commits, allowed="from 1 on, with policy='demand'")
        with self._signal:
            self._inbox.demand(commits)
            self._signal.notify()

    def acknowledge(self, lsn: int | None = None) -> int:
        """Store that the reader has processed everything up to a position, by default all that it received.

        Returns the stored position, which is never beyond a row that still waits to be delivered.
        """
        with self._signal:
            delivered, has_begun = self._events.delivered_up_to(self.position), self._position.has_begun
        if self._acknowledge is None:
            raise InvalidValue(what="acknowledge", value=lsn, allowed="subscriptions with a name")
        if not has_begun:
            raise InvalidValue(what="acknowledge", value=lsn, allowed="once the snapshot was given")
        if lsn is not None and lsn > self.position:
            raise InvalidValue(what="lsn", value=lsn, allowed=f"up to {self.position}, which was given last")
        position = delivered if lsn is None else min(lsn, delivered)
        self._acknowledge(position)
        return position

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    # -- following the feed

    def arrived(self, notices: list[CommitNotice]) -> None:
        """Commits came."""
        with self._signal:
            self._inbox.add(notices)
            self._signal.notify()

    def progressed(self, moment: datetime) -> None:
        """The table stands for this moment, and every commit up to it has arrived."""
        with self._signal:
            if self._inbox.reach(milliseconds(moment)):
                self._signal.notify()

    def failed(self, error: PenstockError) -> None:
        """The table cannot be followed any more."""
        with self._signal:
            self._error = error
        self.cancel()

    # -- delivering

    def _has_event(self) -> bool | None:
        """As `_has_item`, for a reader that takes event by event."""
        return True if self.state is State.ACTIVE and self._events else self._has_item()

    def _has_item(self) -> bool | None:
        """True if there is something to deliver; None if there may be later, False if there never will be."""
        if self.state is State.ACTIVE:
            return True if self._fetcher.has_item() or self._inbox.is_due() else None
        if self.state is State.PAUSED:
            return None
        if self._error is not None:
            why, at = self._error.text, self.position
            raise SubscriptionEnded(name=self.stream_table, why=why, position=at) from self._error
        return False

    def _take_item(self) -> Item | None:
        """The item that was fetched, which counts as delivered from now on; None while the subscription is paused."""
        with self._signal:
            fetched = self._fetcher.take() if self.state is State.ACTIVE else None
            if fetched is None:
                return None
            if isinstance(fetched.item, int):
                self._inbox.moment_delivered(fetched.item)
            else:
                self._position.advance(fetched)
                self._position.delivered += fetched.item.events
                self._inbox.commit_delivered()
            return fetched.item

    def _line_up(self) -> None:
        """Take the item that was fetched, to deliver its events one by one."""
        with self._signal:
            events = self._fetcher.events()
            if events is not None and self._take_item() is not None:
                self._events.add(events)

    def _take_event(self) -> ChangeEvent | None:
        with self._signal:
            return self._events.take() if self.state is State.ACTIVE else None

    def _change(self, from_state: State, to_state: State) -> bool:
        with self._signal:
            if self.state is not from_state:
                return False
            self.state = to_state
            self._signal.notify()
            return True
