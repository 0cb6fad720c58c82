"""One client of a broadcast: its position, and what the server sends it next.

    live      it takes pieces from the ring, the same bytes as every other client
    behind    it reads the table's own log by itself until it reaches the ring

    block         nothing is lost: a client that the ring has left behind reads the log again
    drop_oldest   it goes on with what the ring still has; the client learns how many events it missed
    close         the stream ends

Both ring and log know the position of every event, so a change between them neither repeats nor leaves out an event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import islice
from types import TracebackType
from typing import Final, Literal

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.errors import InvalidValue, PenstockError, ServerStopping, SubscriptionEnded, TooSlow
from penstock.serve.streams.broadcast import Broadcast
from penstock.serve.streams.broadcasts import Broadcasts
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.piece import LARGE_ROWS, Piece, pieces_of, rows_of
from penstock.subscribe.start import Start
from penstock.subscribe.subscription import Subscription

SlowPolicy = Literal["block", "drop_oldest", "close"]
SLOW_POLICIES: Final[tuple[SlowPolicy, ...]] = ("block", "drop_oldest", "close")
PIECES_AHEAD: Final = 4
"""Pieces of a large commit that are encoded before the client takes the first of them."""


class Reader:
    """A client at work; leave it as a context manager."""

    def __init__(
        self, broadcasts: Broadcasts, broadcast: Broadcast, policy: SlowPolicy, own: Subscription | None
    ) -> None:
        self.policy = policy
        self.dropped = 0
        """Events that were left out so far."""
        self.position = broadcast.position if own is None else own.position
        self.sent: int | None = self.position
        """Everything up to this position was sent; None while the rows to begin with are not complete."""
        self._broadcasts, self._broadcast, self._own = broadcasts, broadcast, own
        self._next: int | None = None
        self._seen = 0
        self._durable = False
        if own is None:
            self._join(broadcast.following)

    @classmethod
    async def open(
        cls,
        broadcasts: Broadcasts,
        choice: Choice,
        start: Start,
        policy: SlowPolicy = "block",
        durable: str | None = None,
    ) -> Reader:
        """Begin; errors of the choice and of the point are raised here.

        A durable reader goes on where its name had got to, and reads by itself all the time, so as to acknowledge.
        """
        broadcast = await broadcasts.of(choice)
        try:
            own: Subscription | None = None
            since = start.lsn
            if durable is None and since is not None and since <= broadcast.position:
                number = broadcast.join(since)
                if number is not None:
                    reader = cls(broadcasts, broadcast, policy, None)
                    reader.position = reader.sent = since
                    reader._join(number)
                    return reader
            if durable is not None or start.kind != "now":
                own = await _in_thread(broadcasts, choice, start, durable)
        except BaseException:
            broadcasts.leave(broadcast)
            raise
        reader = cls(broadcasts, broadcast, policy, own)
        reader._durable = durable is not None
        if start.kind == "snapshot":
            reader.sent = None
        return reader

    @property
    def table(self) -> str:
        """The full name of the stream table."""
        return self._broadcast.choice.table

    @property
    def is_live(self) -> bool:
        """True if the ring has what comes next."""
        return self._next is not None

    @property
    def moment(self) -> int | None:
        """What the table stands for at the position, in milliseconds since 1970; None if that is not the newest."""
        return self._broadcast.moment if self.position == self._broadcast.position else None

    async def __aenter__(self) -> Reader:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave_own()
        self._broadcasts.leave(self._broadcast)

    async def pieces(self) -> AsyncIterator[list[Piece]]:
        """What to send next, for ever; ends by an error, which may be that the server stops."""
        while True:
            if self._durable:
                async for pieces in self._by_itself():
                    yield pieces
            elif self._next is None:
                async for pieces in self._catch_up():
                    yield pieces
            elif self._next < self._broadcast.base:
                self._fell_behind()
            elif fresh := self._taken():
                yield fresh
            elif self._broadcast.ended:
                raise self._why_ended()
            else:
                await self._broadcast.moved()

    def note(self, piece: Piece) -> None:
        """A piece was sent."""
        if piece.whole:
            self.sent = piece.end

    async def wait(self, seconds: float) -> bool:
        """Wait until there are events after the position; False if there were none in time."""
        try:
            async with asyncio.timeout(seconds):
                async for pieces in self.pieces():
                    if any(piece.events for piece in pieces):
                        return True
        except (TimeoutError, ServerStopping):
            pass
        return False

    async def acknowledge(self, lsn: int) -> None:
        """Remember that everything up to a position was taken over; only with a name, and for what was sent."""
        if self._own is None or not self._durable:
            raise InvalidValue(what="ack", value=lsn, allowed="streams opened with durable=NAME")
        if self.sent is None or lsn > self.sent:
            allowed = (
                "nothing until all rows were sent" if self.sent is None else f"up to {self.sent}, which was sent last"
            )
            raise InvalidValue(what="ack", value=lsn, allowed=allowed)
        await asyncio.get_running_loop().run_in_executor(self._broadcasts.threads, self._own.acknowledge, lsn)

    async def _by_itself(self) -> AsyncIterator[list[Piece]]:
        assert self._own is not None
        with self._broadcasts.ending(self._own):
            async for changes in self._commits(self._own):
                if changes.refreshed is not None and changes.last_lsn == self.sent:
                    # The name had begun with all rows and never acknowledged them, so they come again.
                    self.sent = None
                async for piece in self._encoded(changes):
                    yield [piece]
                    self.position = piece.end
                # These rows are not needed while the reader waits for the next commit.
                del changes
        raise self._why_ended()

    async def _commits(self, own: Subscription) -> AsyncIterator[CommitChanges]:
        """What is there, then what comes."""
        while (changes := await self._next_commit(own)) is not None:
            yield changes
        async for changes in own.commits_async():
            yield changes

    def _taken(self) -> list[Piece]:
        assert self._next is not None
        pieces = self._broadcast.since(self._next)
        self._next += len(pieces)
        self._seen += sum(piece.events for piece in pieces)
        # What came before it joined the ring was read from the log.
        at = self.position
        fresh = [piece for piece in pieces if piece.end > at or (piece.end == at and not piece.events)]
        if fresh:
            self.position = fresh[-1].end
        return fresh

    async def _catch_up(self) -> AsyncIterator[list[Piece]]:
        """From the log, commit by commit, until the ring can take over."""
        broadcasts, choice = self._broadcasts, self._broadcast.choice
        broadcasts.counts.caught_up += 1
        own = self._own or await _in_thread(broadcasts, choice, Start.after(self.position))
        self._own = own
        while True:
            if broadcasts.stopping:
                raise self._why_ended()
            commit = await self._next_commit(own)
            if commit is not None:
                async for piece in self._encoded(commit):
                    yield [piece]
                    self.position = piece.end
            else:
                self.position = max(self.position, own.position)
                number = self._broadcast.join(self.position)
                if number is not None:
                    break
                if self._broadcast.ended:
                    raise self._why_ended()
        self._leave_own()
        self._join(number)

    async def _next_commit(self, own: Subscription) -> CommitChanges | None:
        """The next commit that is there already, read by a thread."""
        broadcasts, choice = self._broadcasts, self._broadcast.choice

        def following() -> CommitChanges | None:
            commit = own.next_commit(0)
            return None if commit is None else broadcasts.rows.of(choice, commit)

        return await asyncio.get_running_loop().run_in_executor(broadcasts.threads, following)

    async def _encoded(self, changes: CommitChanges) -> AsyncIterator[Piece]:
        """The pieces of a commit; if it is large, as the client takes them."""
        choice = self._broadcast.choice
        pieces = pieces_of(changes, choice.form, choice.framing)
        if rows_of(changes) <= LARGE_ROWS:
            for piece in pieces:
                yield piece
            return
        loop, threads = asyncio.get_running_loop(), self._broadcasts.threads
        while not self._broadcasts.stopping:
            some = await loop.run_in_executor(threads, list, islice(pieces, PIECES_AHEAD))
            if not some:
                return
            for piece in some:
                yield piece
        raise self._why_ended()

    def _join(self, number: int) -> None:
        self._next = number
        self._seen = self._broadcast.events_before(number)

    def _leave_own(self) -> None:
        if self._own is not None:
            self._own.cancel()
            self._own = None

    def _fell_behind(self) -> None:
        broadcast = self._broadcast
        missed = broadcast.forgotten_events - self._seen
        if self.policy == "block" or not missed:
            self._next = None
        elif self.policy == "drop_oldest":
            self.position = max(self.position, broadcast.floor)
            # Of all rows at once, of which the first part is gone, the rest is of no use.
            missed += sum(piece.events for piece in broadcast.since(broadcast.base) if piece.end <= self.position)
            self.dropped += missed
            self._broadcasts.counts.dropped_events += missed
            self._join(broadcast.base)
        else:
            self._broadcasts.counts.cut_off_clients += 1
            raise TooSlow(events=missed, name=broadcast.choice.table, position=self.position)

    def _why_ended(self) -> PenstockError:
        if self._broadcasts.stopping:
            return ServerStopping(position=self.position)
        if self._broadcast.error is not None:
            return self._broadcast.error
        name = self._broadcast.choice.table
        return SubscriptionEnded(name=name, why="the server has ended it", position=self.position)


async def _in_thread(broadcasts: Broadcasts, choice: Choice, start: Start, durable: str | None = None) -> Subscription:
    def begin() -> Subscription:
        return choice.subscribe(broadcasts.tables, start, durable=durable)

    return await asyncio.get_running_loop().run_in_executor(broadcasts.threads, begin)
