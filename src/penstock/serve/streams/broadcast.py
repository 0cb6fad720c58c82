"""One subscription for all clients of the same choice: each commit is encoded once, and all receive the same bytes.

    ring  =  the newest pieces, everything chosen of (floor, position]

A client is a place in the ring, so a thousand clients cost a thousand numbers. A client whose place is not in the ring
reads the table's own log until it is (`reader.py`). Everything here runs on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import milliseconds
from penstock.errors import InternalError, PenstockError
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.piece import LARGE_ROWS, Piece, pieces_of, rows_of
from penstock.subscribe.subscription import Subscription

PIECE_COST: Final = 200
"""Bytes that a piece takes up beside those to send, so that pieces without any are counted too."""

_log = logging.getLogger("penstock.serve")


class Broadcast:
    """What clients of one choice receive from now on."""

    def __init__(self, choice: Choice, subscription: Subscription, room: Callable[[], int], threads: Executor) -> None:
        self.choice = choice
        self.position = self.floor = subscription.position
        self.readers = 0
        self.error: PenstockError | None = None
        self.ended = False
        self.moment: int | None = None
        """The newest moment that was sent, in milliseconds since 1970."""
        self.forgotten_events = 0
        """Events that have left the ring."""
        self._subscription, self._threads = subscription, threads
        self._room = room
        self._ring: list[Piece] = []
        self._base = 0
        self._bytes = 0
        self._moved = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"broadcast {choice.table}")

    @property
    def base(self) -> int:
        """The number of the oldest piece in the ring."""
        return self._base

    @property
    def following(self) -> int:
        """The number that the next piece will have."""
        return self._base + len(self._ring)

    def join(self, lsn: int) -> int | None:
        """The number of the first piece for a reader at a position; None if it has to read the log first."""
        place = bisect_left(self._ring, lsn, key=_begin)
        if lsn < self.floor or (place and self._ring[place - 1].end > lsn):
            return None
        return self._base + place

    def since(self, number: int) -> list[Piece]:
        """The pieces from a number on, all of which must still be here."""
        return self._ring[number - self._base :]

    def events_before(self, number: int) -> int:
        """How many events came before a piece that is here."""
        return self.forgotten_events + sum(piece.events for piece in self._ring[: number - self._base])

    async def moved(self) -> None:
        """Wait until there is more, or the end."""
        await self._moved.wait()

    def heartbeat(self) -> None:
        """Let clients, and everything between here and them, know that the connection is alive."""
        self._push_frame(self.choice.framing.heartbeat(self.position))

    def end(self) -> None:
        """Send nothing more, and wake the clients that wait."""
        self._subscription.cancel()
        self._task.cancel()
        self._end()

    async def _run(self) -> None:
        moment: int | None = None
        try:
            async for item in self._subscription.items_async():
                if isinstance(item, CommitChanges):
                    self._push(await self._encoded(item))
                    moment = None if item.data_timestamp is None else milliseconds(item.data_timestamp)
                    self.position, self.moment = item.last_lsn, moment
                elif item != moment:
                    self.position = self._subscription.position
                    self.moment = item
                    self._push_frame(self.choice.framing.watermark(self.position, item))
        except PenstockError as error:
            self.error = error
        except Exception as error:
            _log.exception("broadcasting the changes of %s failed", self.choice.table)
            self.error = InternalError(why=f"{type(error).__name__}: {error}")
        finally:
            self._end()

    async def _encoded(self, changes: CommitChanges) -> list[Piece]:
        pieces = pieces_of(changes, self.choice.form, self.choice.framing)
        if rows_of(changes) <= LARGE_ROWS:
            return list(pieces)
        return await asyncio.get_running_loop().run_in_executor(self._threads, list, pieces)

    def _push_frame(self, data: bytes) -> None:
        """Push a frame without events, unless the transport writes none."""
        if data:
            self._push([Piece(self.position, self.position, 0, data)])

    def _push(self, pieces: list[Piece]) -> None:
        self._ring += pieces
        self._bytes += sum(map(_cost, pieces))
        surplus, room = 0, self._room()
        # The newest stays, however large: clients wait for it.
        while self._bytes > room and surplus < len(self._ring) - 1:
            gone = self._ring[surplus]
            self._bytes -= _cost(gone)
            self.forgotten_events += gone.events
            self.floor = max(self.floor, gone.lost)
            surplus += 1
        del self._ring[:surplus]
        self._base += surplus
        self._wake()

    def _end(self) -> None:
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()


def _cost(piece: Piece) -> int:
    return PIECE_COST + len(piece.data)


def _begin(piece: Piece) -> int:
    return piece.begin
