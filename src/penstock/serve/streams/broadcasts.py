"""All broadcasts of a server: the first client of a choice begins one, and it stays for a while after the last."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from penstock.api import StreamTables
from penstock.errors import ServerStopping
from penstock.serve.limits import Limits
from penstock.serve.streams.broadcast import Broadcast
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.shared_rows import SharedRows
from penstock.subscribe.start import Start
from penstock.subscribe.subscription import Subscription

LINGER_SECONDS: Final = 30.0
"""A client that connects again within this time finds its broadcast where it left it."""

LINGERING: Final = 16
"""The most broadcasts that stay without clients; beyond it the one that was left first ends."""

FULL_RINGS: Final = 64
"""All rings together take no more room than this number of full ones; with more rings each is smaller."""

HEARTBEAT_SECONDS: Final = 15.0

READING_THREADS: Final = 4
"""Threads that read logs and files for clients who are behind; the live ones need none."""


@dataclass
class Counts:
    """What clients missed since the server began."""

    dropped_events: int = 0
    """Left out, because a client with `policy=drop_oldest` was slow."""
    cut_off_clients: int = 0
    """Ended, because a client with `policy=close` was slow."""
    caught_up: int = 0
    """How often a client read the log because it was not in the ring."""


class Broadcasts:
    """The broadcasts that there are, by choice."""

    def __init__(self, tables: StreamTables, limits: Limits) -> None:
        self.threads = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="penstock-serve")
        self.counts = Counts()
        self.rows = SharedRows()
        self.stopping = False
        self._tables, self._limits = tables, limits
        self._begun: dict[Choice, asyncio.Task[Broadcast]] = {}
        self._unused: dict[Broadcast, None] = {}
        self._heartbeats: asyncio.Task[None] | None = None
        self._alone: set[Subscription] = set()

    @property
    def tables(self) -> StreamTables:
        """The open warehouse."""
        return self._tables

    def __len__(self) -> int:
        return len(self._begun)

    async def of(self, choice: Choice) -> Broadcast:
        """The broadcast of a choice, with one reader more; `leave` it."""
        if self.stopping:
            raise ServerStopping(position="the last one")
        begun = self._begun.get(choice)
        if begun is not None and begun.done() and (begun.exception() is not None or begun.result().ended):
            begun = None
        if begun is None:
            begun = self._begun[choice] = asyncio.get_running_loop().create_task(self._begin(choice))
        try:
            found = await asyncio.shield(begun)
        except BaseException:
            if begun.done() and self._begun.get(choice) is begun:
                del self._begun[choice]
            raise
        found.readers += 1
        self._unused.pop(found, None)
        return found

    def leave(self, broadcast: Broadcast) -> None:
        """One reader less."""
        broadcast.readers -= 1
        if not broadcast.readers and not self.stopping:
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._forget, broadcast)
            self._unused[broadcast] = None
            if len(self._unused) > LINGERING:
                self._forget(next(iter(self._unused)))

    @contextmanager
    def ending(self, subscription: Subscription) -> Iterator[None]:
        """While the block runs, the subscription is cancelled if the server stops."""
        self._alone.add(subscription)
        try:
            yield
        finally:
            self._alone.discard(subscription)

    def stop(self) -> None:
        """End every stream."""
        self.stopping = True
        if self._heartbeats is not None:
            self._heartbeats.cancel()
        for begun in self._begun.values():
            if begun.done() and begun.exception() is None:
                begun.result().end()
            else:
                begun.cancel()
        self._begun.clear()
        for subscription in list(self._alone):
            subscription.cancel()

    def close(self) -> None:
        """Let go of the threads, after the last answer."""
        self.threads.shutdown(wait=False, cancel_futures=True)

    async def _begin(self, choice: Choice) -> Broadcast:
        loop = asyncio.get_running_loop()
        if self._heartbeats is None:
            self._heartbeats = loop.create_task(self._beat(), name="heartbeats")
        subscription = await loop.run_in_executor(
            self.threads, lambda: choice.subscribe(self._tables, Start("now"), progress=True)
        )
        begun = Broadcast(choice, subscription, self._room, self.threads)
        # Those who asked for it may have gone meanwhile.
        loop.call_later(LINGER_SECONDS, self._forget, begun)
        return begun

    def _room(self) -> int:
        """Bytes for one ring."""
        return self._limits.buffer_bytes * FULL_RINGS // max(FULL_RINGS, len(self._begun))

    def _forget(self, broadcast: Broadcast) -> None:
        if broadcast.readers:
            return
        self._unused.pop(broadcast, None)
        broadcast.end()
        begun = self._begun.get(broadcast.choice)
        if begun is not None and begun.done() and begun.exception() is None and begun.result() is broadcast:
            del self._begun[broadcast.choice]

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            for begun in self._begun.values():
                if begun.done() and begun.exception() is None:
                    begun.result().heartbeat()
