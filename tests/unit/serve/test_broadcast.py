"""The ring of a broadcast: it is bounded, whatever is pushed into it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from penstock.serve.broadcast import Broadcast
from penstock.serve.broadcasts import Broadcasts
from penstock.serve.choice import Choice
from penstock.serve.limits import Limits
from penstock.serve.sse import SSE
from penstock.serve.table_changes import SILENT
from penstock.testing.published import Published

PATIENCE = 20.0


def held(broadcast: Broadcast) -> int:
    """Pieces in the ring."""
    return broadcast.following - broadcast.base


async def reached(broadcast: Broadcast, lsn: int) -> None:
    """Wait until the broadcast stands at a position."""
    async with asyncio.timeout(PATIENCE):
        while broadcast.position < lsn:
            await asyncio.sleep(0.01)


def test_events_without_bytes_leave_the_ring_too(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long"}, key=("k",))
        table.commit(put=[{"k": 0}])

        async def play() -> None:
            broadcasts = Broadcasts(world.tables, Limits(buffer_bytes=1000))
            broadcast = await broadcasts.of(Choice("default.t", SILENT))
            for number in range(1, 13):
                await asyncio.to_thread(table.commit, put=[{"k": number}])
            await reached(broadcast, 13)
            assert 1 <= held(broadcast) <= 5
            assert broadcast.forgotten_events + held(broadcast) == 12
            broadcasts.stop()

        asyncio.run(play())


def test_heartbeats_are_bounded_and_not_kept_for_who_hears_none(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        world.keyed("t", {"k": "long"}, key=("k",)).commit(put=[{"k": 0}])

        async def play() -> None:
            broadcasts = Broadcasts(world.tables, Limits(buffer_bytes=10_000))
            heard = await broadcasts.of(Choice("default.t", SSE))
            unheard = await broadcasts.of(Choice("default.t", SILENT))
            before = held(unheard)
            for _ in range(1000):
                heard.heartbeat()
                unheard.heartbeat()
            assert held(heard) <= 50
            assert held(unheard) == before
            broadcasts.stop()

        asyncio.run(play())
