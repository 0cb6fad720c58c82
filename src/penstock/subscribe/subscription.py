"""One subscriber: its position in a changelog, and what it is given next.

    delivered  =  the events after the start, in order, each once            policies that keep all
                  the same without those that were counted as dropped        policies that drop

A subscription holds no rows: commits wait for it as notices, and the rows are shared with all who follow the same
table. `every` gives each commit by itself, `net` gives all that wait as one change, in which what came and went again
is not seen. Positions are acknowledged by their reader; a durable subscription begins there the next time.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Literal

import pyarrow as pa

from penstock.arguments import checked
from penstock.changes.wire.change_event import ChangeEvent
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import milliseconds
from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.errors import InvalidValue, PenstockError, SubscriptionEnded
from penstock.subscribe.backpressure import Policy, Waiting
from penstock.subscribe.commit_notice import CommitNotice
from penstock.subscribe.feed import Feed
from penstock.subscribe.start import Point
from penstock.subscribe.wake import Sleeper, wake

Delivery = Literal["every", "net"]
Choose = Callable[[CommitChanges], CommitChanges]
Item = CommitChanges | int
"""A commit's events, or the moment that the table stands for, in milliseconds since 1970."""

NAP = 0.5
"""Seconds of the longest sleep: a signal that comes just before one, or to another thread, is noticed at its end."""

_ids = itertools.count(1)


class State(StrEnum):
    """What a subscription is doing."""

    ACTIVE = "active"
    PAUSED = "paused"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class SubscriptionMetrics:
    """How a subscription is doing."""

    id: str
    stream_table: str
    state: str
    position: int
    delivered: int
    """Events given so far."""
    dropped: int
    """Events left out so far."""
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
        self.position = point.lsn
        """Everything up to this LSN was given, left out or not chosen."""
        self.version = point.version
        self.delivered = 0
        self._head = point.lsn
        self._feed, self._choose = feed, choose
        self._policy, self._delivery = policy, delivery
        self._acknowledge = acknowledge
        self._snapshot = point.snapshot
        self._waiting = Waiting(policy, buffer)
        self._moment: int | None = None
        """The moment that the table stands for, in milliseconds since 1970, and the last one that was told."""
        self._told: int | None = None
        self._taken: _Taken | None = None
        """The next item, read and not given yet."""
        self._events: deque[tuple[int | None, ChangeEvent]] = deque()
        """Events of the commit under way, each with the position up to which all is given as long as it waits."""
        self._begun = point.snapshot is None
        self._heard = point.version
        self._demand = 0
        self._error: PenstockError | None = None
        self._woken = threading.Condition()
        self._taking = threading.Lock()
        self._sleepers: set[Sleeper] = set()
        self._since = time.monotonic()
        self._table = feed.follow(changelog, self, point.version)

    # -- asking

    def __iter__(self) -> Iterator[ChangeEvent]:
        while (event := self.next()) is not None:
            yield event

    def next(self, timeout: float | None = None) -> ChangeEvent | None:
        """The next event; None when `timeout` seconds have passed without one, or the subscription was cancelled.

        What could not be read is not passed over: the error is raised, and the next call tries again.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._wait(deadline, with_events=True):
            event = self._next_event()
            if event is not None:
                return event
            self._fetch()
            self._unfold(self._hand_over())
        return None

    def next_commit(self, timeout: float | None = None) -> CommitChanges | None:
        """The next commit's events together; None as for `next`. Do not mix the two on one subscription."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._wait(deadline):
            self._fetch()
            taken = self._hand_over()
            if taken is not None and isinstance(taken.item, CommitChanges):
                return taken.item
        return None

    def commits(self) -> Iterator[CommitChanges]:
        """Commit by commit, until the subscription is cancelled."""
        while (changes := self.next_commit()) is not None:
            yield changes

    def __aiter__(self) -> AsyncIterator[ChangeEvent]:
        return self._events_async()

    async def _events_async(self) -> AsyncIterator[ChangeEvent]:
        while await self._wait_async(with_events=True):
            event = self._next_event()
            if event is not None:
                yield event
                continue
            await self._fetch_async()
            self._unfold(self._hand_over())

    async def commits_async(self) -> AsyncIterator[CommitChanges]:
        """Commit by commit, without ever blocking the event loop."""
        async for item in self.items_async():
            if isinstance(item, CommitChanges):
                yield item

    async def items_async(self) -> AsyncIterator[Item]:
        """Commit by commit, and with `progress` the moments that the table stands for."""
        while await self._wait_async():
            await self._fetch_async()
            taken = self._hand_over()
            if taken is not None:
                yield taken.item

    # -- steering

    def pause(self) -> bool:
        """Give nothing until `resume`; False if the subscription was not active."""
        return self._turn(State.ACTIVE, State.PAUSED)

    def resume(self) -> bool:
        """Go on where `pause` stopped; False if the subscription was not paused."""
        return self._turn(State.PAUSED, State.ACTIVE)

    def cancel(self) -> bool:
        """End it: whoever waits for an event gets none; False if it had ended already."""
        with self._woken:
            if self.state is State.CANCELLED:
                return False
            self.state = State.CANCELLED
            self._events.clear()
            self._wake()
        self._feed.leave(self)
        return True

    def request(self, commits: int) -> None:
        """Ask for so many more commits, where the policy is `demand`."""
        if self._policy.kind != "demand" or commits < 1:
            raise InvalidValue(what="request", value=commits, allowed="from 1 on, with policy='demand'")
        with self._woken:
            self._demand += commits
            self._wake()

    def acknowledge(self, lsn: int | None = None) -> int:
        """Remember that everything up to a position was taken over, by default all that was given.

        The answer is the position that was remembered: never one beyond a row that still waits to be given.
        """
        with self._woken:
            given, begun = self._given_up_to(), self._begun
        if self._acknowledge is None:
            raise InvalidValue(what="acknowledge", value=lsn, allowed="subscriptions with a name")
        if not begun:
            raise InvalidValue(what="acknowledge", value=lsn, allowed="once the snapshot was given")
        if lsn is not None and lsn > self.position:
            raise InvalidValue(what="lsn", value=lsn, allowed=f"up to {self.position}, which was given last")
        position = given if lsn is None else min(lsn, given)
        self._acknowledge(position)
        return position

    def metrics(self) -> SubscriptionMetrics:
        """How it is doing."""
        with self._woken:
            return SubscriptionMetrics(
                id=self.id,
                stream_table=self.stream_table,
                state=self.state.value,
                position=self.position,
                delivered=self.delivered,
                dropped=self._waiting.dropped,
                lag=max(0, self.head - self.position),
                age_seconds=time.monotonic() - self._since,
            )

    @property
    def head(self) -> int:
        """The newest position of the stream table, as far as this process has looked."""
        return self._head

    @property
    def dropped(self) -> int:
        """Events that were left out so far."""
        return self._waiting.dropped

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    # -- what the feed says

    def arrived(self, notices: list[CommitNotice]) -> None:
        """Commits came."""
        with self._woken:
            for each in notices:
                # A feed that was late may tell of what lies before the start.
                if each.version <= self._heard:
                    continue
                self._heard, self._head = each.version, each.last_lsn
                self._waiting.add(each)
                self._moment = each.moment if self._moment is None else max(self._moment, each.moment)
            self._wake()

    def progressed(self, moment: datetime) -> None:
        """The table stands for this moment, and every commit up to it has arrived."""
        with self._woken:
            reached = milliseconds(moment)
            if self._moment is None or reached > self._moment:
                self._moment = reached
                self._wake()

    def failed(self, error: PenstockError) -> None:
        """The table cannot be followed any more."""
        with self._woken:
            self._error = error
        self.cancel()

    # -- taking

    def _wait(self, deadline: float | None, with_events: bool = False) -> bool:
        """Wait until there is something to give; False when the time is over, or the subscription was cancelled."""
        with self._woken:
            while not self._ready(with_events):
                if self.state is State.CANCELLED:
                    self._raise_error()
                    return False
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._woken.wait(NAP if left is None else min(left, NAP))
            return True

    async def _wait_async(self, with_events: bool = False) -> bool:
        """The same without blocking the event loop, and without an end but the subscription's."""
        loop = asyncio.get_running_loop()
        while True:
            sleeper = loop, loop.create_future()
            with self._woken:
                if self._ready(with_events):
                    return True
                if self.state is State.CANCELLED:
                    self._raise_error()
                    return False
                self._sleepers.add(sleeper)
            try:
                await sleeper[1]
            finally:
                with self._woken:
                    self._sleepers.discard(sleeper)

    def _ready(self, with_events: bool = False) -> bool:
        if self.state is not State.ACTIVE:
            return False
        if self._taken is not None or (with_events and self._events):
            return True
        if self._policy.kind == "demand" and not self._demand:
            return False
        return self._snapshot is not None or len(self._waiting) > 0 or self._waiting.behind or self._has_progress()

    def _has_progress(self) -> bool:
        return self.wants_progress and self._moment is not None and (self._told is None or self._moment > self._told)

    def _at_hand(self) -> bool:
        """True if the next item is in memory, so that fetching it blocks nobody."""
        with self._woken:
            if self._taken is not None or not self._ready():
                return True
            if self._snapshot is not None or self._delivery == "net":
                return False
            first = self._waiting.first()
            return self._table.has(first.version) if first is not None else not self._waiting.behind

    async def _fetch_async(self) -> None:
        if self._at_hand():
            self._fetch()
        else:
            # Reading a log or a file takes its time. If the wait for it is given up, what was read is still there.
            await asyncio.to_thread(self._fetch)

    def _fetch(self) -> None:
        """Have the next item ready, if there is one. What cannot be read goes on waiting."""
        with self._taking:
            with self._woken:
                if self._taken is not None or not self._ready():
                    return
                snapshot, self._snapshot = self._snapshot, None
                notices = [] if snapshot is not None else self._next_notices()
                behind = not notices and snapshot is None and self._waiting.behind
            if behind:
                self._catch_up()
                return
            try:
                taken = self._read(snapshot, notices)
            except BaseException:
                with self._woken:
                    self._snapshot = snapshot
                    self._waiting.put_back(notices)
                raise
            with self._woken:
                if taken is None or taken.item or isinstance(taken.item, int):
                    self._taken = taken
                else:
                    # Nothing of it was chosen.
                    self._passed(taken)

    def _next_notices(self) -> list[CommitNotice]:
        first = self._waiting.first()
        if first is None:
            return []
        # Of a commit that was given in part, the rest comes by itself.
        if self._delivery == "net" and first.before >= self.position:
            return self._waiting.take_all()
        return [self._waiting.take()]

    def _read(self, snapshot: Entry | None, notices: list[CommitNotice]) -> _Taken | None:
        if snapshot is not None:
            return self._chosen(self._table.changelog.whole(snapshot), snapshot.version, snapshot=True)
        if not notices:
            with self._woken:
                moment = self._moment if self._has_progress() else None
            return None if moment is None else _Taken(moment, self.position, self.version)
        entries = [self._table.entry(each.version) for each in notices]
        whole = len(entries) == 1
        changes = self._table.changes(entries[0]) if whole else self._table.changelog.net(self.version, entries)
        return self._chosen(changes.after(self.position), entries[-1].version)

    def _chosen(self, changes: CommitChanges, version: int, snapshot: bool = False) -> _Taken:
        return _Taken(self._choose(changes), changes.last_lsn, version, snapshot)

    def _catch_up(self) -> None:
        """Let commits wait that there was no room for when they came."""
        with self._table.turn:
            notices = self._table.notices(self._table.after(self.version))
            with self._woken:
                self._waiting.behind = False
                for each in notices:
                    self._waiting.add(each)

    def _hand_over(self) -> _Taken | None:
        """The item that is ready, which counts as given from now on; None while the subscription is paused."""
        with self._woken:
            taken = self._taken
            if taken is None or self.state is not State.ACTIVE:
                return None
            self._taken = None
            taken.before = self.position
            if isinstance(taken.item, int):
                self._told = taken.item
                return taken
            self._passed(taken)
            self.delivered += taken.item.events
            if self._policy.kind == "demand":
                self._demand -= 1
            return taken

    def _passed(self, taken: _Taken) -> None:
        self.position, self.version = max(self.position, taken.lsn), max(self.version, taken.version)
        self._begun = self._begun or taken.is_snapshot

    def _unfold(self, taken: _Taken | None) -> None:
        """Line the events of an item up, each with the position up to which all is given as long as it waits."""
        if taken is None:
            return
        if isinstance(taken.item, int):
            lined: list[tuple[int | None, ChangeEvent]] = [(None, ChangeEvent.watermark(taken.item))]
        else:
            together = taken.item.refreshed is not None or self._delivery == "net"
            safe = [taken.before if together else int(lsns[0]) - 1 for _, _, _, lsns in taken.item.runs()]
            lined = list(zip(safe, events_of(taken.item), strict=True))
        with self._woken:
            self._events.extend(lined)

    def _next_event(self) -> ChangeEvent | None:
        with self._woken:
            if self.state is not State.ACTIVE or not self._events:
                return None
            return self._events.popleft()[1]

    def _given_up_to(self) -> int:
        """Everything before the first row that still waits to be handed out."""
        waiting = [safe for safe, _ in self._events if safe is not None]
        return min(waiting) if waiting else self.position

    def _turn(self, from_state: State, to_state: State) -> bool:
        with self._woken:
            if self.state is not from_state:
                return False
            self.state = to_state
            self._wake()
            return True

    def _wake(self) -> None:
        self._woken.notify_all()
        for sleeper in self._sleepers:
            wake(sleeper)
        self._sleepers.clear()

    def _raise_error(self) -> None:
        if self._error is not None:
            why, at = self._error.text, self.position
            raise SubscriptionEnded(name=self.stream_table, why=why, position=at) from self._error


@dataclass(slots=True)
class _Taken:
    """An item on its way: what is given, and how far that brings its subscriber."""

    item: Item
    lsn: int
    version: int
    is_snapshot: bool = False
    before: int = 0
    """Where the subscriber stood before it was given."""


def events_of(changes: CommitChanges) -> list[ChangeEvent]:
    """The events of a commit as batches: what goes, what is replaced, what comes.

    An event's sequence is the position of its last row. All rows anew are a snapshot.
    """
    stamp = milliseconds(changes.data_timestamp or changes.committed_at)
    events: list[ChangeEvent] = []
    for kind, was, now, lsns in changes.runs():
        last = int(lsns[-1])
        match kind:
            case "delete":
                events.append(ChangeEvent.delete(_batch(was), stamp, last))
            case "update":
                events.append(ChangeEvent.update(_batch(was), _batch(now), stamp, last))
            case "insert":
                events.append(ChangeEvent.insert(_batch(now), stamp, last))
            case _:
                events.append(ChangeEvent.snapshot(_batch(now), stamp))
    return events


def _batch(rows: pa.Table | None) -> pa.RecordBatch:
    assert rows is not None
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], rows.schema)
