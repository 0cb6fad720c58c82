"""Readers of a broadcast, whatever comes when: each event once and in order, or counted as left out.

The ring is so small, and pieces are so short, that readers fall out of it and come back all the time.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import threading
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.errors import InvalidValue
from penstock.serve.limits import Limits
from penstock.serve.streams import piece as pieces_module
from penstock.serve.streams.broadcasts import Broadcasts
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.framing import SILENT
from penstock.serve.streams.piece import Piece, pieces_of
from penstock.serve.streams.reader import PIECES_AHEAD, Reader, SlowPolicy
from penstock.subscribe.start import Start
from penstock.testing.published import Published, PublishedTable

PATIENCE = 60.0


class Told:
    """Pieces that say what is in them."""

    name = "told"

    def changes(self, lsns: Sequence[int], bodies: Sequence[bytes]) -> bytes:
        assert len(lsns) == len(bodies)
        return json.dumps({"lsns": list(lsns)}).encode()

    def snapshot(self, lsn: int, rows: Sequence[bytes], *, first: bool, last: bool) -> bytes:
        return json.dumps({"snapshot": lsn, "rows": len(rows), "first": first, "last": last}).encode()

    def watermark(self, lsn: int, ts_ms: int | None) -> bytes:
        return b"{}"

    def heartbeat(self, lsn: int) -> bytes:
        return b"{}"


TOLD = Told()


class Client:
    """What one reader was given, checked as it comes."""

    def __init__(self, reader: Reader, since: int, everything: bool, refreshed: dict[int, int]) -> None:
        self.reader, self._at, self._everything, self._refreshed = reader, since, everything, refreshed
        self.events = 0
        self._parts = 0
        self._stream: AsyncIterator[list[Piece]] = reader.pieces()

    async def take(self) -> None:
        """One more bite."""
        async with asyncio.timeout(PATIENCE):
            for piece in await anext(self._stream):
                self._check(json.loads(piece.data))
                self.reader.note(piece)

    def _check(self, said: dict[str, object]) -> None:
        if "lsns" in said:
            lsns = said["lsns"]
            assert isinstance(lsns, list)
            assert lsns == sorted(set(lsns))
            assert lsns[0] > self._at
            if self._everything:
                assert lsns == list(range(self._at + 1, self._at + 1 + len(lsns)))
            self._at, self.events = lsns[-1], self.events + len(lsns)
        elif "snapshot" in said:
            lsn, rows = said["snapshot"], said["rows"]
            assert isinstance(lsn, int)
            assert isinstance(rows, int)
            assert said["first"] or self._parts, "a snapshot without its first part"
            self._parts = rows if said["first"] else self._parts + rows
            if said["last"]:
                assert self._parts == self._refreshed[lsn]
                self._parts = 0
                assert lsn > self._at
                assert not self._everything or lsn == self._at + 1
                self._at, self.events = lsn, self.events + 1

    @property
    def at(self) -> int:
        return self._at


def change(table: PublishedTable, chance: random.Random, refreshed: dict[int, int]) -> None:
    """One commit of some kind; of a refresh, how many rows it had."""
    anew = chance.random() < 0.25
    most = 60 if anew else 12
    rows = [{"k": key, "v": chance.randrange(1000)} for key in chance.sample(range(60), chance.randint(1, most))]
    if anew:
        refreshed[table.commit(put=rows, anew=True).first_lsn] = len(rows)
    else:
        gone = [row for row in table.rows if chance.random() < 0.1 and row["k"] not in {each["k"] for each in rows}]
        table.commit(put=rows, drop=gone)


@pytest.mark.parametrize("seed", range(6))
def test_every_reader_gets_every_event_once_or_counts_it(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces_module, "PIECE_BYTES", 250)
    chance = random.Random(seed)
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long", "v": "long"}, key=("k",))
        refreshed: dict[int, int] = {}
        table.commit(put=[{"k": 1, "v": 1}])
        for _ in range(3):
            change(table, chance, refreshed)

        async def play() -> None:
            broadcasts = Broadcasts(world.tables, Limits(buffer_bytes=2000))
            choice = Choice("default.t", TOLD)
            clients: list[Client] = []
            begun: list[int] = []

            async def join() -> None:
                newest = world.tables.changelog("t").newest().last_lsn
                since = chance.randint(0, newest)
                policy: SlowPolicy = chance.choice(["block", "block", "drop_oldest"])
                reader = await Reader.open(broadcasts, choice, Start("lsn", since), policy)
                clients.append(Client(reader, since, policy == "block", refreshed))
                begun.append(since)

            for _ in range(3):
                await join()
            for _ in range(60):
                step = chance.random()
                if step < 0.35:
                    await asyncio.to_thread(change, table, chance, refreshed)
                    await asyncio.sleep(chance.choice([0, 0.03]))
                elif step < 0.45:
                    await join()
                else:
                    client = chance.choice(clients)
                    if client.at < world.tables.changelog("t").newest().last_lsn and client.reader.policy == "block":
                        await client.take()
            await asyncio.to_thread(table.commit, put=[{"k": 99, "v": 1}])
            last = world.tables.changelog("t").newest().last_lsn
            for client, since in zip(clients, begun, strict=True):
                while client.at < last:
                    await client.take()
                assert client.events + client.reader.dropped == last - since
                if client.reader.policy == "block":
                    assert client.reader.dropped == 0
                assert client.reader.sent == client.at == last
                await client.reader.__aexit__(None, None, None)
            broadcasts.stop()

        asyncio.run(play())


def test_what_was_read_from_the_log_is_not_given_again_by_the_ring(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long"}, key=("k",))
        table.commit(put=[{"k": 0}])

        async def play() -> None:
            broadcasts = Broadcasts(world.tables, Limits())
            async with await Reader.open(broadcasts, Choice("default.t", TOLD), Start("now")) as reader:
                # The log may be read further than the broadcast has got.
                reader.position = 3
                for number in range(1, 5):
                    await asyncio.to_thread(table.commit, put=[{"k": number}])
                seen: list[int] = []
                async with asyncio.timeout(PATIENCE):
                    async for pieces in reader.pieces():
                        seen += [lsn for piece in pieces for lsn in json.loads(piece.data).get("lsns", [])]
                        if seen and seen[-1] == 5:
                            break
                assert seen == [4, 5]
            broadcasts.stop()

        asyncio.run(play())


def test_a_part_of_all_rows_cannot_be_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "PIECE_BYTES", 100)
    with Published.open(tmp_path) as world:
        world.keyed("t", {"k": "long"}, key=("k",)).commit(put=[{"k": key} for key in range(40)])

        async def play() -> None:
            broadcasts, choice = Broadcasts(world.tables, Limits()), Choice("default.t", TOLD)
            # Who comes again under the name is given all rows anew, whatever it asks for.
            for start in (Start("snapshot"), Start("now"), Start("lsn", 40)):
                async with await Reader.open(broadcasts, choice, start, durable="d") as reader:
                    stream = reader.pieces()
                    (part,) = await anext(stream)
                    assert json.loads(part.data)["first"]
                    for _ in range(2):
                        with pytest.raises(InvalidValue, match="until all rows were sent"):
                            await reader.acknowledge(40)
                        reader.note(part)
            async with await Reader.open(broadcasts, choice, Start("now"), durable="d") as reader:
                async for (piece,) in reader.pieces():
                    reader.note(piece)
                    if piece.whole:
                        break
                with pytest.raises(InvalidValue, match="up to 40"):
                    await reader.acknowledge(41)
                await reader.acknowledge(40)
            async with await Reader.open(broadcasts, choice, Start("now"), durable="d") as reader:
                assert reader.sent == 40
            broadcasts.stop()

        asyncio.run(play())


def test_a_part_of_a_commit_can_be_acknowledged_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "PIECE_BYTES", 250)
    with Published.open(tmp_path) as world:
        world.keyed("t", {"k": "long"}, key=("k",)).commit(put=[{"k": key} for key in range(40)])

        async def play() -> None:
            broadcasts, choice = Broadcasts(world.tables, Limits()), Choice("default.t", TOLD)
            async with await Reader.open(broadcasts, choice, Start("lsn", 0), durable="d") as reader:
                (piece,) = await anext(reader.pieces())
                reader.note(piece)
                assert 0 < piece.end < 40
                with pytest.raises(InvalidValue, match=f"up to {piece.end}, which was sent last"):
                    await reader.acknowledge(40)
                await reader.acknowledge(piece.end)
            async with await Reader.open(broadcasts, choice, Start("lsn", 0), durable="d") as reader:
                (following,) = await anext(reader.pieces())
                assert json.loads(following.data)["lsns"][0] == piece.end + 1
            broadcasts.stop()

        asyncio.run(play())


class Counting(Told):
    """How many pieces were made, and by which threads."""

    def __init__(self) -> None:
        self.made = 0
        self.threads: set[threading.Thread] = set()

    def _count(self) -> None:
        self.made += 1
        self.threads.add(threading.current_thread())

    def changes(self, lsns: Sequence[int], bodies: Sequence[bytes]) -> bytes:
        self._count()
        return super().changes(lsns, bodies)

    def snapshot(self, lsn: int, rows: Sequence[bytes], *, first: bool, last: bool) -> bytes:
        self._count()
        return super().snapshot(lsn, rows, first=first, last=last)


def rows(count: int) -> list[dict[str, object]]:
    return [{"k": key, "v": f"{key:06d}" + "x" * 100} for key in range(count)]


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("start", [Start("snapshot"), Start("lsn", 0)])
def test_a_large_commit_is_encoded_as_it_is_taken_and_by_a_thread(tmp_path: Path, start: Start, durable: bool) -> None:
    with Published.open(tmp_path) as world:
        world.keyed("t", {"k": "long", "v": "string"}, key=("k",)).commit(put=rows(20_000))

        async def play() -> None:
            broadcasts, framing = Broadcasts(world.tables, Limits()), Counting()
            name = "d" if durable else None
            async with await Reader.open(broadcasts, Choice("default.t", framing), start, durable=name) as reader:
                taken: list[Piece] = []
                async for pieces in reader.pieces():
                    taken += pieces
                    assert framing.made <= len(taken) + PIECES_AHEAD
                    if pieces[-1].end == 20_000:
                        break
                assert len(taken) > 3 * PIECES_AHEAD
                assert taken[0].begin == (19_999 if start.kind == "snapshot" else 0)
                told = [json.loads(piece.data) for piece in taken]
                if start.kind == "snapshot":
                    assert sum(each["rows"] for each in told) == 20_000
                    assert [each["first"] for each in told] == [True] + [False] * (len(told) - 1)
                    assert [each["last"] for each in told] == [False] * (len(told) - 1) + [True]
                else:
                    assert [lsn for each in told for lsn in each["lsns"]] == list(range(1, 20_001))
                    assert all(left.end == right.begin for left, right in pairwise(taken))
                assert threading.current_thread() not in framing.threads
            broadcasts.stop()

        asyncio.run(play())


@pytest.mark.parametrize("durable", [False, True])
def test_slow_clients_hold_the_rows_to_begin_with_together(tmp_path: Path, durable: bool) -> None:
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long", "v": "string"}, key=("k",))
        table.commit(put=rows(20_000))

        async def play() -> None:
            broadcasts, choice = Broadcasts(world.tables, Limits()), Choice("default.t", TOLD)
            readers = [
                await Reader.open(broadcasts, choice, Start("snapshot"), durable=f"d{number}" if durable else None)
                for number in range(6)
            ]
            streams = [reader.pieces() for reader in readers]
            # What others have left behind must not be freed in between.
            gc.collect()
            before = pa.total_allocated_bytes()
            await anext(streams[0])
            one = pa.total_allocated_bytes() - before
            for stream in streams[1:]:
                await anext(stream)
            assert len(broadcasts.rows) == 1
            assert one > 1_000_000
            assert pa.total_allocated_bytes() - before < 2 * one
            for stream in streams:
                while not (await anext(stream))[-1].whole:
                    pass
            # Whoever has got them waits for the next commit without them.
            waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
            async with asyncio.timeout(PATIENCE):
                while len(broadcasts.rows):
                    await asyncio.sleep(0.01)
                    # asyncio's futures of threads refer to themselves.
                    gc.collect()
            assert pa.total_allocated_bytes() - before < one / 2
            await asyncio.to_thread(table.commit, put=[{"k": -1, "v": ""}])
            for given in await asyncio.gather(*waiting):
                assert given[-1].end >= 20_000
            for reader in readers:
                await reader.__aexit__(None, None, None)
            broadcasts.stop()

        asyncio.run(play())


def test_pieces_cover_a_commit_without_a_hole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "PIECE_BYTES", 300)
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long", "v": "long"}, key=("k",))
        table.commit(put=[{"k": key, "v": 1} for key in range(40)])
        subscription = world.tables.subscribe("t", lsn=0, where="k < 30")
        commit = subscription.next_commit(0)
        assert commit is not None
        pieces = list(pieces_of(commit, "json", TOLD))
        assert len(pieces) > 5
        assert pieces[0].begin == 0
        # What was not chosen at the end belongs to the last piece.
        assert pieces[-1].end == 40
        assert all(left.end == right.begin for left, right in pairwise(pieces))
        assert sum(piece.events for piece in pieces) == 30


def test_all_rows_count_once_they_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "PIECE_BYTES", 100)
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long"}, key=("k",))
        table.commit(put=[{"k": key} for key in range(40)])
        commit = world.tables.subscribe("t", start="snapshot").next_commit(0)
        assert commit is not None
        pieces = list(pieces_of(commit, "json", TOLD))
        assert [piece.events for piece in pieces] == [0] * (len(pieces) - 1) + [1]
        assert [piece.whole for piece in pieces] == [False] * (len(pieces) - 1) + [True]
        assert (pieces[0].end, pieces[-1].end) == (39, 40)
        # A reader without the first part cannot use the others.
        assert pieces[0].lost == 40


def test_nothing_is_encoded_for_who_is_sent_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long"}, key=("k",))
        table.commit(put=[{"k": key} for key in range(40)])
        chosen = world.tables.subscribe("t", lsn=0, where="k < 30").next_commit(0)
        whole = world.tables.subscribe("t", start="snapshot").next_commit(0)
    assert chosen is not None
    assert whole is not None
    monkeypatch.setattr(pieces_module, "row_events", None)
    monkeypatch.setattr(pieces_module, "all_rows", None)
    assert list(pieces_of(chosen, "json", SILENT)) == [Piece(0, 40, 30, b"")]
    assert list(pieces_of(whole, "json", SILENT)) == [Piece(39, 40, 1, b"")]


def test_no_rows_are_a_snapshot_too(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long"}, key=("k",))
        table.commit(put=[{"k": 1}])
        table.commit(drop=[{"k": 1}])
        commit = world.tables.subscribe("t", start="snapshot").next_commit(0)
        assert commit is not None
        assert [(piece.events, json.loads(piece.data)["rows"]) for piece in pieces_of(commit, "json", TOLD)] == [(1, 0)]
