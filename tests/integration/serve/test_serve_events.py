"""Server-sent events: kinds, starting points, resuming without gap or repeat, slow clients, and the end."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import PATIENCE, Events, Server, get, lsns, row

from penstock.serve import server as serve_server
from penstock.serve.limits import Limits
from penstock.serve.streams import broadcasts
from penstock.testing.published import Published, PublishedTable

STREAM = "/tables/sales/stream"


def test_a_stream_from_now_begins_with_where_it_stands(server: Server, table: PublishedTable) -> None:
    with Events(server.port, STREAM) as events:
        assert events.response.headers["content-type"].startswith("text/event-stream")
        hello = next(iter(events))
        assert (hello.kind, hello.id, hello.data["lsn"]) == ("watermark", "4", 4)
        table.commit(put=[row("north", 1)])
        (change,) = events.take(1)
        assert (change.id, change.data["op"], change.data["after"]) == ("5", "insert", row("north", 1))


def test_the_newest_moment_is_not_told_at_an_older_position(server: Server, table: PublishedTable) -> None:
    with Events(server.port, STREAM) as others:
        next(iter(others))
        table.commit(put=[row("north", 1)])
        table.commit(put=[row("south", 1)])
        assert lsns(others.take(2)) == [5, 6]
        with Events(server.port, STREAM, since_lsn=5) as behind, Events(server.port, STREAM, since_lsn=6) as level:
            hello = next(iter(behind))
            assert (hello.kind, hello.data) == ("watermark", {"lsn": 5, "ts_ms": None})
            hello = next(iter(level))
            assert (hello.kind, hello.data["lsn"]) == ("watermark", 6)
            assert hello.data["ts_ms"] is not None


def test_a_stream_from_a_snapshot_goes_on_after_exactly_these_rows(server: Server, table: PublishedTable) -> None:
    with Events(server.port, STREAM, start="snapshot") as events:
        (rows,) = events.take(1, "snapshot")
        assert (rows.id, rows.data) == ("4", {"lsn": 4, "first": True, "last": True, "rows": [row("east", 6)]})
        table.commit(drop=[row("east", 6)])
        assert [(each.id, each.data["op"]) for each in events.take(1)] == [("5", "delete")]


@pytest.mark.parametrize("start", [{"since_lsn": 2}, {"version": 1}, {"timestamp": "2026-01-01T00:00:00Z"}])
def test_a_stream_begins_at_any_point(server: Server, start: dict[str, Any]) -> None:
    with Events(server.port, STREAM, **start) as events:
        assert lsns(events.take(2)) == [3, 4]


def test_a_large_snapshot_comes_in_parts_and_only_the_last_has_an_id(server: Server, table: PublishedTable) -> None:
    table.commit(put=[row(f"region number {number:06d}", number) for number in range(5000)], anew=True)
    with Events(server.port, STREAM, start="snapshot") as events:
        parts = []
        for event in events:
            parts.append(event)
            if event.data["last"]:
                break
    assert len(parts) > 3
    assert [part.data["first"] for part in parts] == [True] + [False] * (len(parts) - 1)
    assert [part.id for part in parts] == [None] * (len(parts) - 1) + ["5"]
    assert sum(len(part.data["rows"]) for part in parts) == 5000


def test_a_refresh_is_told_as_a_snapshot(server: Server, table: PublishedTable) -> None:
    with Events(server.port, STREAM) as events:
        next(iter(events))
        table.commit(put=[row("new", 1)], anew=True)
        (rows,) = events.take(1, "snapshot")
        assert (rows.id, rows.data["rows"]) == ("5", [row("new", 1)])


def test_debezium_rows_columns_and_conditions(server: Server, table: PublishedTable) -> None:
    with Events(server.port, STREAM, since_lsn=0, format="debezium", where="total > 5", columns="total") as events:
        (change,) = events.take(1)
        assert (change.id, change.data["op"], change.data["after"]) == ("4", "c", {"total": 6})


def test_what_is_not_chosen_still_moves_the_position_of_the_client(server: Server, table: PublishedTable) -> None:
    with Events(server.port, STREAM, where="total > 1000") as events:
        next(iter(events))
        table.commit(put=[row("north", 1)])
        (moved,) = events.take(1, "watermark")
        while moved.id == "4":
            # How far the table has got is told from time to time.
            (moved,) = events.take(1, "watermark")
        assert moved.id == "5"


def test_who_comes_again_gets_neither_a_gap_nor_a_repeat(server: Server, table: PublishedTable) -> None:
    """The client is cut off again and again, in the middle of commits too, while the table changes."""
    rounds, rows = 25, 6
    seen: list[int] = []
    stop = threading.Event()

    def change() -> None:
        for number in range(rounds):
            table.commit(put=[row(f"r{each}", number * rows + each) for each in range(rows)])
            time.sleep(0.02)
        stop.set()

    changing = threading.Thread(target=change)
    changing.start()
    last, cut = "4", 0
    final = 4 + rounds * rows
    deadline = time.monotonic() + 60
    while (not seen or seen[-1] < final) and time.monotonic() < deadline:
        with Events(server.port, STREAM, {"Last-Event-ID": last}) as events:
            assert events.response.status == 200
            # An odd number, so that the cut falls inside of commits.
            wanted = min(1 + cut * 3 % 17, final - int(last))
            seen += lsns(events.take(wanted))
            last, cut = events.last_id or last, cut + 1
    changing.join()
    assert stop.is_set()
    assert seen == list(range(5, final + 1))
    assert cut > 10


def test_many_clients_from_different_points_all_see_the_same_order(server: Server, table: PublishedTable) -> None:
    got: dict[int, list[int]] = {}
    ready = threading.Barrier(13)

    def follow(since: int) -> None:
        with Events(server.port, STREAM, since_lsn=since % 5) as events:
            ready.wait(PATIENCE)
            got[since] = lsns(events.take(34 - since % 5))

    clients = [threading.Thread(target=follow, args=(number,)) for number in range(12)]
    for client in clients:
        client.start()
    ready.wait(PATIENCE)
    for number in range(30):
        table.commit(put=[row("east", 100 + number)])
    for client in clients:
        client.join(PATIENCE)
    assert got == {number: list(range(number % 5 + 1, 35)) for number in range(12)}


def test_the_last_event_id_must_be_one_of_ours(server: Server) -> None:
    got = get(server.port, STREAM, {"Last-Event-ID": "abc"})
    assert (got.status, got.condition) == (400, "INVALID_VALUE")
    ahead = get(server.port, STREAM, {"Last-Event-ID": "77"})
    assert (ahead.status, ahead.condition) == (400, "NOT_REACHED")


def test_errors_come_as_answers_and_not_in_the_stream(server: Server) -> None:
    assert get(server.port, "/tables/none/stream").status == 404
    assert get(server.port, STREAM, where="nothing = 1").condition == "INVALID_FILTER"
    assert get(server.port, STREAM, start="yesterday").status == 400
    assert get(server.port, STREAM, start="now", since_lsn=1).status == 400


def test_a_heartbeat_comes_while_nothing_happens(
    server: Server, table: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcasts, "HEARTBEAT_SECONDS", 0.1)
    with Events(server.port, STREAM) as events:
        beats = 0
        while beats < 2:
            line = events.response.readline()
            assert line, "the stream ended"
            beats += line.startswith(b":")
        table.commit(put=[row("north", 1)])
        assert lsns(events.take(1)) == [5]


def test_when_the_server_stops_streams_end_with_a_close_event(
    world: Published, table: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than it may take: nobody is cut off.
    monkeypatch.setattr(serve_server, "PARTING_SECONDS", 60.0)
    with Server(world.tables) as server:
        events = Events(server.port, STREAM)
        assert next(iter(events)).kind == "watermark"
        began = time.monotonic()
    rest = [(each.kind, each.data["lsn"]) for each in events if each.kind != "watermark"]
    assert rest == [("close", 4)]
    assert time.monotonic() - began < 30
    events.close()


def test_a_dropped_table_ends_its_streams(server: Server, world: Published, table: PublishedTable) -> None:
    with Events(server.port, STREAM) as events:
        next(iter(events))
        # At once: with some of its files it would be another table.
        Path(table.storage.path).rename(world.root / "gone")
        (error,) = events.take(1, "error")
        assert error.data["condition"] == "SUBSCRIPTION_ENDED"
        assert "gone" in error.data["message"]


class Stuck:
    """A client that asks and then does not read until it is told to."""

    def __init__(self, port: int, policy: str) -> None:
        self._socket = socket.socket()
        # So that the system does not take megabytes in its stead.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(("127.0.0.1", port))
        self._socket.sendall(f"GET {STREAM}?policy={policy} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.text = b""
        while b"watermark" not in self.text:
            self.text += self._socket.recv(1024)

    def read_until(self, end: bytes) -> str:
        """Everything until this text comes."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        parts = [self.text]
        while end not in b"".join(parts[-20:]):
            parts.append(self._socket.recv(1 << 20))
            assert parts[-1], f"the stream ended before {end!r}"
        return b"".join(parts).decode()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def cramped(world: Published, table: PublishedTable) -> Iterator[Server]:
    """A server that keeps next to nothing in memory."""
    with Server(world.tables, limits=Limits(buffer_bytes=50_000)) as running:
        yield running


def _flood(table: PublishedTable) -> int:
    """Megabytes of changes, more than the sockets of both sides hold; the last position."""
    rows = [f"a region with a long name, number {number}" for number in range(6000)]
    for number in range(12):
        table.commit(put=[row(name, number) for name in rows])
    return 4 + 12 * 6000


def _told(text: str) -> list[int]:
    return [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]


def test_a_slow_client_that_blocks_loses_nothing(cramped: Server, table: PublishedTable) -> None:
    client = Stuck(cramped.port, "block")
    last = _flood(table)
    text = client.read_until(b"id: %d\n" % last)
    changes = [number for number in _told(text) if number > 4]
    assert sorted(set(changes)) == list(range(5, last + 1))
    assert changes == sorted(changes)
    assert get(cramped.port, "/health").json["caught_up"] >= 1
    client.close()


def test_a_slow_client_that_drops_is_told_how_much(cramped: Server, table: PublishedTable) -> None:
    client = Stuck(cramped.port, "drop_oldest")
    last = _flood(table)
    text = client.read_until(b"id: %d\n" % last)
    dropped = sum(
        int(line.partition('"events":')[2].partition(",")[0])
        for line in text.splitlines()
        if line.startswith('data: {"events":')
    )
    assert dropped > 0
    changes = [line for line in text.splitlines() if line.startswith('data: {"lsn":') and '"op"' in line]
    assert len(changes) + dropped == last - 4
    assert get(cramped.port, "/health").json["dropped_events"] == dropped
    client.close()


def test_a_slow_client_that_asked_for_it_is_cut_off(cramped: Server, table: PublishedTable) -> None:
    client = Stuck(cramped.port, "close")
    _flood(table)
    text = client.read_until(b"TOO_SLOW")
    assert "event: error" in text
    assert get(cramped.port, "/health").json["cut_off_clients"] == 1
    client.close()


def test_a_client_that_does_not_read_does_not_hold_up_the_end(
    world: Published, table: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_server, "PARTING_SECONDS", 1.0)
    with Server(world.tables, limits=Limits(buffer_bytes=50_000)) as server:
        client = Stuck(server.port, "block")
        _flood(table)
        rescue = threading.Timer(PATIENCE, client.close)
        rescue.start()
    assert rescue.is_alive(), "it was held up"
    rescue.cancel()
    client.close()


def test_head_says_what_a_stream_would_be(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("HEAD", STREAM)
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"")
    assert response.headers["content-type"].startswith("text/event-stream")
    connection.close()


def test_a_client_that_is_gone_leaves_nothing_behind(server: Server, table: PublishedTable) -> None:
    streams = [Events(server.port, STREAM) for _ in range(5)]
    for stream in streams:
        next(iter(stream))
    assert server.context.connections.open == 5
    for stream in streams:
        stream.close()
    deadline = time.monotonic() + PATIENCE
    while server.context.connections.open and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.context.connections.open == 0
