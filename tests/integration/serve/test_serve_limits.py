"""What a server does not take on: too many clients, too large requests, and what it counts of that."""

from __future__ import annotations

import http.client
import socket
import threading

import pytest
from serving import PATIENCE, Events, Server, get, row
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from penstock.serve.limits import Limits
from penstock.testing.published import Published, PublishedTable


def test_clients_beyond_the_limit_get_a_503_and_later_a_place(world: Published, table: PublishedTable) -> None:
    with Server(world.tables, limits=Limits(connections=3)) as server:
        streams = [Events(server.port, "/tables/sales/stream") for _ in range(3)]
        for stream in streams:
            next(iter(stream))
        got = get(server.port, "/tables")
        assert (got.status, got.condition) == (503, "TOO_MANY_CLIENTS")
        assert got.headers["retry-after"] == "1"
        address = f"ws://127.0.0.1:{server.port}/tables/sales/ws"
        with pytest.raises(InvalidStatus) as refused, connect(address, open_timeout=PATIENCE):
            pass
        assert refused.value.response.status_code == 503
        streams.pop().close()
        table.commit(put=[row("north", 1)])
        for stream in streams:
            assert len(stream.take(1)) == 1
        counts = get(server.port, "/health").json["connections"]
        assert (counts["most"], counts["refused"]) == (3, 2)
        for stream in streams:
            stream.close()


def test_a_request_that_says_too_much_is_refused(world: Published, table: PublishedTable) -> None:
    with Server(world.tables) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("GET", "/tables", headers={"Content-Length": "1000000"})
        response = connection.getresponse()
        assert response.status == 413
        assert b"REQUEST_TOO_LARGE" in response.read()
        connection.close()
        plain = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        plain.sendall(b"GET /tables HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000)
        assert plain.recv(1000).startswith(b"HTTP/1.1 400")
        plain.close()


def test_clients_of_one_choice_share_one_subscription(world: Published, table: PublishedTable) -> None:
    with Server(world.tables) as server:
        streams = [Events(server.port, "/tables/sales/stream") for _ in range(20)]
        streams += [Events(server.port, "/tables/sales/stream", where="total > 5") for _ in range(20)]
        for stream in streams:
            next(iter(stream))
        assert get(server.port, "/health").json["broadcasts"] == 2
        table.commit(put=[row("north", 100)])
        assert [stream.take(1)[0].id for stream in streams] == ["5"] * 40
        assert get(server.port, "/health").json["caught_up"] == 0
        for stream in streams:
            stream.close()


def test_a_crowd_of_clients_comes_at_once(world: Published, table: PublishedTable) -> None:
    got: list[str | None] = []
    with Server(world.tables) as server:
        ready = threading.Barrier(61)

        def follow(number: int) -> None:
            with Events(server.port, "/tables/sales/stream", since_lsn=number % 5) as events:
                events.take(4 - number % 5) if number % 5 < 4 else next(iter(events))
                ready.wait(PATIENCE)
                got.append(events.take(1)[0].id)

        clients = [threading.Thread(target=follow, args=(number,)) for number in range(60)]
        for client in clients:
            client.start()
        ready.wait(PATIENCE)
        table.commit(put=[row("north", 100)])
        for client in clients:
            client.join(PATIENCE)
    assert got == ["5"] * 60
