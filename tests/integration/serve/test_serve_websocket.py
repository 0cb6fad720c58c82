"""WebSockets: what is told, what a client may say, and how the conversation ends."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import Any

import pytest
from serving import PATIENCE, Server, row
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from penstock.testing.published import Published, PublishedTable


def dial(server: Server, query: str = "", **options: Any) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{server.port}/tables/sales/ws{query}", open_timeout=PATIENCE, **options)


def hear(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """The next message of a kind; those of other kinds are passed over."""
    while True:
        said: dict[str, Any] = json.loads(socket.recv(timeout=PATIENCE))
        if said["type"] == kind:
            return said


def say(socket: ClientConnection, kind: str, **facts: Any) -> None:
    socket.send(json.dumps({"type": kind, **facts}))


def refusal(server: Server, query: str = "", **options: Any) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as refused, dial(server, query, **options):
        pass
    response = refused.value.response
    return response.status_code, json.loads(response.body or b"{}")["error"]["condition"]


def test_changes_come_as_messages(server: Server, table: PublishedTable) -> None:
    with dial(server) as socket:
        assert hear(socket, "subscribed") == {"type": "subscribed", "table": "default.sales", "lsn": 4}
        table.commit(put=[row("north", 1), row("south", 2)])
        data = hear(socket, "data")
        assert data["lsn"] == 6
        assert [(event["lsn"], event["op"], event["after"]) for event in data["events"]] == [
            (5, "insert", row("north", 1)),
            (6, "insert", row("south", 2)),
        ]


def test_a_snapshot_comes_first(server: Server, table: PublishedTable) -> None:
    with dial(server, "?start=snapshot&format=debezium") as socket:
        rows = hear(socket, "snapshot")
        assert (rows["lsn"], rows["first"], rows["last"]) == (4, True, True)
        assert [(each["op"], each["after"]) for each in rows["rows"]] == [("r", row("east", 6))]
        table.commit(put=[row("north", 1)])
        assert hear(socket, "data")["events"][0]["op"] == "c"


def test_a_paused_client_is_told_nothing_and_later_all_of_it(server: Server, table: PublishedTable) -> None:
    with dial(server) as socket:
        hear(socket, "subscribed")
        say(socket, "pause")
        assert hear(socket, "paused")["lsn"] == 4
        for number in range(3):
            table.commit(put=[row("east", 100 + number)])
        with pytest.raises(TimeoutError):
            socket.recv(timeout=0.5)
        say(socket, "resume")
        hear(socket, "resumed")
        seen: list[int] = []
        while len(seen) < 3:
            seen += [event["lsn"] for event in hear(socket, "data")["events"]]
        assert seen == [5, 6, 7]


def test_a_durable_client_goes_on_after_what_it_acknowledged(server: Server, table: PublishedTable) -> None:
    with dial(server, "?durable=feed&since_lsn=0") as socket:
        events = hear(socket, "data")["events"] + hear(socket, "data")["events"]
        assert [event["lsn"] for event in events] == [1, 2, 3, 4]
        say(socket, "ack", lsn=3)
        assert hear(socket, "acknowledged")["lsn"] == 3
    with dial(server, "?durable=feed") as socket:
        assert [event["lsn"] for event in hear(socket, "data")["events"]] == [4]
        table.commit(put=[row("north", 1)])
        assert [event["lsn"] for event in hear(socket, "data")["events"]] == [5]


def test_a_durable_client_acknowledges_all_rows_once_it_has_them(server: Server, table: PublishedTable) -> None:
    table.commit(put=[row(f"region number {number:06d}", number) for number in range(5000)], anew=True)
    with dial(server, "?durable=board&start=snapshot") as socket:
        parts = 1
        while not hear(socket, "snapshot")["last"]:
            parts += 1
        assert parts > 3
        say(socket, "ack", lsn=6)
        assert "up to 5" in hear(socket, "error")["error"]["hint"]
        say(socket, "ack", lsn=5)
        assert hear(socket, "acknowledged")["lsn"] == 5
    with dial(server, "?durable=board&start=snapshot") as socket:
        table.commit(put=[row("north", 1)])
        assert json.loads(socket.recv(timeout=PATIENCE))["lsn"] == 5
        assert json.loads(socket.recv(timeout=PATIENCE))["events"][0]["lsn"] == 6


def test_what_nobody_understands_is_answered_and_the_stream_goes_on(server: Server, table: PublishedTable) -> None:
    with dial(server) as socket:
        hear(socket, "subscribed")
        for text in (
            "no json",
            "[1]",
            '{"type":"dance"}',
            '{"type":"ack","lsn":"x"}',
            '{"type":"ack","lsn":4}',
            "[" * 9000,
        ):
            socket.send(text)
            assert hear(socket, "error")["error"]["condition"] == "INVALID_VALUE"
        socket.send(b'\xff{"type"')
        assert hear(socket, "error")["error"]["condition"] == "INVALID_VALUE"
        table.commit(put=[row("north", 1)])
        assert hear(socket, "data")["lsn"] == 5


def test_a_client_can_end_it(server: Server) -> None:
    with dial(server) as socket:
        hear(socket, "subscribed")
        say(socket, "close")
        assert hear(socket, "closed") == {"type": "closed", "lsn": 4, "reason": "the client asked for it"}
        with pytest.raises(ConnectionClosed) as ended:
            socket.recv(timeout=PATIENCE)
        assert ended.value.rcvd is not None
        assert ended.value.rcvd.code == 1000


def test_when_the_server_stops_clients_are_told_where_they_stand(world: Published, table: PublishedTable) -> None:
    with ExitStack() as sockets:
        with Server(world.tables) as server:
            both = [sockets.enter_context(dial(server, query)) for query in ("", "?durable=feed")]
            for each in both:
                hear(each, "subscribed")
            table.commit(put=[row("north", 1)])
            for each in both:
                hear(each, "data")
        for each in both:
            assert hear(each, "closed")["lsn"] == 5
            with pytest.raises(ConnectionClosed) as ended:
                each.recv(timeout=PATIENCE)
            assert ended.value.rcvd is not None
            assert ended.value.rcvd.code == 1001


def test_a_message_that_is_too_large_ends_the_connection(server: Server) -> None:
    with dial(server) as socket:
        hear(socket, "subscribed")
        socket.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            hear(socket, "nothing more")


def test_refusals_are_answers(server: Server) -> None:
    assert refusal(server, "?since_lsn=99") == (400, "NOT_REACHED")
    assert refusal(server, "?since=1") == (400, "INVALID_VALUE")
    assert refusal(server, "?where=nothing=1") == (400, "INVALID_FILTER")


def test_pages_from_elsewhere_may_not_listen(server: Server, world: Published) -> None:
    assert refusal(server, origin="https://elsewhere.example") == (403, "REQUEST_REFUSED")
    with dial(server, origin=f"http://127.0.0.1:{server.port}") as socket:
        hear(socket, "subscribed")
    with Server(world.tables, origins=("https://elsewhere.example",)) as open_to_page:
        with dial(open_to_page, origin="https://elsewhere.example") as socket:
            hear(socket, "subscribed")
        assert refusal(open_to_page, origin="https://another.example") == (403, "REQUEST_REFUSED")


def test_a_client_that_is_gone_leaves_nothing_behind(server: Server) -> None:
    with ExitStack() as sockets:
        for _ in range(4):
            hear(sockets.enter_context(dial(server)), "subscribed")
        assert server.context.connections.open == 4
    deadline = time.monotonic() + PATIENCE
    while server.context.connections.open and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.context.connections.open == 0
