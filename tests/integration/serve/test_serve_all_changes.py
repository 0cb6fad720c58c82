"""`GET /changes`: the changes of all stream tables over sockets, to the byte."""

from __future__ import annotations

import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from serving import PATIENCE, Server, get, row, sales

from penstock.serve import server as serve_server
from penstock.serve.access import Access
from penstock.subscribe.all_changes import AllChanges
from penstock.testing.published import Published, PublishedTable

BOB = "bob's token, which is long"
EAST, WEST = 11945016143563044811, 14630758990894702996


def lsns(page: dict[str, Any]) -> list[int]:
    return [event["lsn"] for event in page["events"]]


@pytest.mark.parametrize("path", ["/changes", "/v1/ops/cdc/changes"])
def test_a_page_is_written_to_the_byte(port: int, table: PublishedTable, path: str) -> None:
    table.commit(put=[row("north", 9)], anew=True)
    got = get(port, path)
    assert (got.status, got.headers["content-type"], got.headers["cache-control"]) == (
        200,
        "application/json",
        "no-store",
    )
    assert re.sub(rb'"timestamp":\d{13}', b'"timestamp":T', got.body) == (
        b'{"events":['
        b'{"collection":"default.sales","kind":"row","lsn":1,"operation":"insert","rid":%d,"timestamp":T},'
        b'{"collection":"default.sales","kind":"row","lsn":2,"operation":"insert","rid":%d,"timestamp":T},'
        b'{"collection":"default.sales","kind":"row","lsn":3,"operation":"delete","rid":%d,"timestamp":T},'
        b'{"collection":"default.sales","kind":"row","lsn":4,"operation":"update","rid":%d,"timestamp":T},'
        b'{"collection":"default.sales","kind":"item","lsn":5,"operation":"refresh","rid":0,"timestamp":T}'
        b'],"next_lsn":5,"ok":true}' % (EAST, WEST, WEST, EAST)
    )


def test_the_cursor_is_exclusive_and_stays_at_the_end(port: int) -> None:
    assert lsns(get(port, "/changes", since_lsn=2).json) == [3, 4]
    assert get(port, "/changes", since_lsn=4).body == b'{"events":[],"next_lsn":4,"ok":true}'
    assert get(port, "/changes", since_lsn=99).body == b'{"events":[],"next_lsn":99,"ok":true}'


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"limit": 2}, 2),
        ({"limit": 0}, 0),
        ({"limit": "many"}, 100),
        ({"limit": -1}, 100),
        ({}, 100),
        ({"limit": 10_000}, 10_000),
        ({"limit": 2**64 - 1}, 10_000),
        ({"limit": 150, "since_lsn": "x"}, 150),
        ({"limit": 150, "since_lsn": 2**64}, 150),
    ],
)
def test_limits_are_those_of_the_reference(port: int, table: PublishedTable, asked: dict[str, Any], found: int) -> None:
    table.commit(put=[row(f"r{number}", number) for number in range(10_100)])
    page = get(port, "/changes", **asked).json
    assert len(page["events"]) == found == page["next_lsn"]


def test_a_poller_is_given_every_event_of_every_table_once(world: Published, port: int, table: PublishedTable) -> None:
    other = sales(world, "other")
    table.commit(put=[row(f"r{number}", number) for number in range(7)])
    other.commit(put=[row("east", 1)], anew=True)
    seen: list[tuple[int, str]] = []
    since = 0
    while (page := get(port, "/changes", since_lsn=since, limit=3).json)["events"]:
        seen += [(event["lsn"], event["collection"]) for event in page["events"]]
        since = page["next_lsn"]
    assert [lsn for lsn, _ in seen] == list(range(1, 17))
    assert [name for _, name in seen].count("default.other") == 5


def test_a_request_waits_for_the_first_event(port: int, table: PublishedTable) -> None:
    began = time.monotonic()
    assert get(port, "/changes", since_lsn=4, wait=0.3).body == b'{"events":[],"next_lsn":4,"ok":true}'
    assert time.monotonic() - began >= 0.3
    threading.Timer(0.2, lambda: table.commit(put=[row("south", 1)])).start()
    assert lsns(get(port, "/changes", since_lsn=4, wait=50).json) == [5]


def test_a_server_that_stops_does_not_wait_for_those_who_wait(
    world: Published, table: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Less than they wait for, so that whoever is not told is cut off without an answer.
    monkeypatch.setattr(serve_server, "PARTING_SECONDS", 30.0)
    answers: list[bytes] = []
    with Server(world.tables) as server:
        asking = threading.Thread(
            target=lambda: answers.append(get(server.port, "/changes", since_lsn=4, wait=60).body), daemon=True
        )
        asking.start()
        deadline = time.monotonic() + PATIENCE
        while not server.context.connections.open:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    asking.join(PATIENCE)
    assert answers == [b'{"events":[],"next_lsn":4,"ok":true}']


def test_events_of_hidden_tables_are_left_out_and_passed_over(world: Published, tmp_path: Path) -> None:
    sales(world, "sales")
    sales(world, "secrets")
    file = tmp_path / "tokens.toml"
    file.write_text(f'[bob]\ntoken = "{BOB}"\ntables = ["sales"]\n')
    with Server(world.tables, Access.read(file)) as server:
        assert get(server.port, "/changes").status == 401
        page = get(server.port, "/changes", {"Authorization": f"Bearer {BOB}"}).json
        assert {event["collection"] for event in page["events"]} == {"default.sales"}
        assert (len(page["events"]), page["next_lsn"]) == (4, 8)


def test_a_loss_is_told_with_the_next_position_that_is_there(world: Published, table: PublishedTable) -> None:
    catalog, logs = world.tables._warehouse.catalog, world.tables._warehouse.logs
    # Commits get their places one after the other: those of one moment would stand in either order.
    every = AllChanges(catalog, logs, 0)
    gone = sales(world, "gone")
    every.catch_up()
    table.commit(put=[row("south", 1)])
    every.catch_up()
    every.close()
    catalog.delete(next(each.id for each in catalog.get_all() if each.table_id == gone.storage.table_id))
    shutil.rmtree(gone.storage.path)
    with Server(world.tables) as server:
        assert get(server.port, "/changes").json["next_lsn"] == 4
        lost = get(server.port, "/changes", since_lsn=4)
        assert (lost.status, lost.condition) == (410, "NOT_RETAINED")
        assert lost.json["error"]["earliest"] == 9
        assert lsns(get(server.port, "/changes", since_lsn=8).json) == [9]
