"""`GET /tables/{name}/watch/{key}`: finite bodies and streams, over sockets."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from serving import PATIENCE, Events, Server, get, row, sales

from penstock.changes.wire import key_events as key_events_module
from penstock.changes.wire.key_text import key_texts
from penstock.serve.access import Access
from penstock.testing.published import Published, PublishedTable

BOB = "bob's token, which is long"


def test_frames_are_written_to_the_byte(port: int) -> None:
    got = get(port, "/tables/sales/watch/east", since_lsn=0)
    assert (got.status, got.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert re.sub(rb'"committed_at":\d{13}', b'"committed_at":T', got.body) == (
        b'event: kv\ndata: {"after":{"region":"east","total":5},"before":null,"committed_at":T,'
        b'"dropped_event_count":0,"key":"east","lsn":1,"op":"insert"}\n\n'
        b'event: kv\ndata: {"after":{"region":"east","total":6},"before":{"region":"east","total":5},"committed_at":T,'
        b'"dropped_event_count":0,"key":"east","lsn":4,"op":"update"}\n\n'
    )


def test_without_a_position_the_body_is_what_comes_from_now_on(port: int) -> None:
    assert get(port, "/tables/sales/watch/east").body == b""
    assert get(port, "/tables/sales/watch/nobody", since_lsn=0).body == b""


@pytest.mark.parametrize(
    ("asked", "found"),
    [({}, 100), ({"limit": 3}, 3), ({"limit": 0}, 1), ({"limit": 5000}, 1000), ({"limit": "x"}, 100)],
)
def test_limits_are_those_of_the_reference(port: int, table: PublishedTable, asked: dict[str, Any], found: int) -> None:
    table.commit(put=[row(f"cart.{number}", number) for number in range(1200)])
    assert get(port, "/tables/sales/watch/cart.*", since_lsn=0, **asked).body.count(b"event: kv\n") == found


def test_a_key_may_have_any_characters(port: int, table: PublishedTable) -> None:
    odd = "a/b?c*d\\e ž"
    table.commit(put=[row(odd, 1)])
    text = odd.replace("\\", "\\\\").replace("*", "\\*")
    assert get(port, f"/tables/sales/watch/{quote(text)}", since_lsn=4).body.count(b"event: kv\n") == 1


def test_following_goes_on_with_what_comes(port: int, table: PublishedTable) -> None:
    with Events(port, "/tables/sales/watch/east", since_lsn=0, follow="true") as events:
        assert [event.data["lsn"] for event in events.take(2, "kv")] == [1, 4]
        threading.Timer(0.1, lambda: table.commit(put=[row("west", 1), row("east", 7)])).start()
        assert [event.data["after"] for event in events.take(1, "kv")] == [row("east", 7)]
    with Events(port, "/tables/sales/watch/east", since_lsn=0, follow="true", limit=1) as events:
        assert [event.data["lsn"] for event in events] == [1]


@pytest.mark.parametrize("anew", [False, True])
def test_a_large_commit_is_looked_through_by_a_thread(
    port: int, table: PublishedTable, monkeypatch: pytest.MonkeyPatch, anew: bool
) -> None:
    looked: list[str] = []

    def noted(rows: pa.Table, key: tuple[str, ...]) -> list[str]:
        looked.append(threading.current_thread().name)
        return key_texts(rows, key)

    monkeypatch.setattr(key_events_module, "key_texts", noted)
    with Events(port, "/tables/sales/watch/cart.1500", since_lsn=4, follow="true") as events:
        table.commit(put=[row(f"cart.{number}", number) for number in range(2000)], anew=anew)
        assert [event.data["after"] for event in events.take(1, "kv")] == [row("cart.1500", 1500)]
        assert len(looked) == 1
        # The event loop's own thread has the name without a number.
        assert looked[0].startswith("penstock-serve_")


def test_a_server_that_stops_ends_its_watches(world: Published, table: PublishedTable) -> None:
    with Server(world.tables) as server:
        events = Events(server.port, "/tables/sales/watch/east", since_lsn=0, follow="true")
        assert len(events.take(2, "kv")) == 2
        ended: list[int] = []
        reading = threading.Thread(target=lambda: ended.append(len(list(events))), daemon=True)
        reading.start()
        time.sleep(0.2)
    reading.join(PATIENCE)
    events.close()
    assert ended == [0]


def test_what_cannot_be_watched_is_refused(world: Published, port: int) -> None:
    world.bag("log", {"x": "long"}).commit(put=[{"x": 1}])
    assert (get(port, "/tables/nothing/watch/1").status, get(port, "/tables/log/watch/1").condition) == (404, "NO_KEY")
    ahead = get(port, "/tables/sales/watch/east", since_lsn=9)
    assert (ahead.status, ahead.condition) == (400, "NOT_REACHED")


def test_a_token_opens_only_its_tables(world: Published, tmp_path: Path) -> None:
    sales(world, "sales")
    sales(world, "secrets")
    file = tmp_path / "tokens.toml"
    file.write_text(f'[bob]\ntoken = "{BOB}"\ntables = ["sales"]\n')
    with Server(world.tables, Access.read(file)) as server:
        assert get(server.port, "/tables/sales/watch/east").status == 401
        assert get(server.port, "/tables/sales/watch/east", access_token=BOB).status == 200
        assert get(server.port, "/tables/secrets/watch/east", access_token=BOB).status == 403
