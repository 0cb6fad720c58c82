"""The ring of a broadcast: it is bounded, whatever is pushed into it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.serve.limits import Limits
from penstock.serve.resources.sse import SSE
from penstock.serve.streams import broadcasts as broadcasts_module
from penstock.serve.streams.broadcast import Broadcast
from penstock.serve.streams.broadcasts import LINGERING, Broadcasts
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.framing import SILENT
from penstock.serve.streams.reader import Reader
from penstock.subscribe.start import Start
from penstock.testing.published import Published

PATIENCE = 60.0


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


def test_of_many_choices_that_nobody_follows_only_the_newest_linger(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        world.keyed("t", {"k": "long"}, key=("k",)).commit(put=[{"k": 0}])

        async def play() -> None:
            broadcasts = Broadcasts(world.tables, Limits())
            used = Choice("default.t", SSE)
            async with await Reader.open(broadcasts, used, Start()):
                choices = [Choice("default.t", SSE, where=f"k > {number}") for number in range(LINGERING + 5)]
                left: list[Broadcast] = []
                for choice in choices:
                    async with await Reader.open(broadcasts, choice, Start()):
                        left.append(await broadcasts.of(choice))
                        broadcasts.leave(left[-1])
                # One who comes again keeps its broadcast, and makes it the last to go.
                async with await Reader.open(broadcasts, choices[5], Start()):
                    assert await broadcasts.of(choices[5]) is left[5]
                    broadcasts.leave(left[5])
                async with await Reader.open(broadcasts, Choice("default.t", SSE, where="k > 99"), Start()):
                    pass
                assert [broadcast.ended for broadcast in left[:8]] == [True] * 5 + [False, True, False]
                assert len(broadcasts) == LINGERING + 1
                assert not (await broadcasts.of(used)).ended
            broadcasts.stop()

        asyncio.run(play())


def test_many_choices_share_the_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcasts_module, "FULL_RINGS", 2)
    with Published.open(tmp_path) as world:
        world.keyed("t", {"k": "long"}, key=("k",)).commit(put=[{"k": 0}])

        async def play() -> None:
            broadcasts = Broadcasts(world.tables, Limits(buffer_bytes=10_000))
            held_by: list[int] = []
            begun: list[Broadcast] = []
            for number in range(8):
                begun.append(await broadcasts.of(Choice("default.t", SSE, where=f"k > {number}")))
                for broadcast in begun:
                    for _ in range(100):
                        broadcast.heartbeat()
                held_by.append(sum(map(held, begun)))
            assert held_by[1] == 2 * held_by[0]
            assert max(held_by) <= held_by[1] + 8
            assert all(held(broadcast) >= 10 for broadcast in begun)
            broadcasts.stop()

        asyncio.run(play())
