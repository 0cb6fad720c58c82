"""`GET /tables…/changes`: pages, long polls, and what is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from serving import PATIENCE, get, row

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.engine.changelog.changelog import Entry
from penstock.serve.resources import table_changes
from penstock.subscribe.table_feed import TableFeed
from penstock.testing.published import PublishedTable


def test_tables_are_listed_with_their_positions(port: int) -> None:
    found = get(port, "/tables").json
    assert [(each["name"], each["lsn"], each["version"]) for each in found["tables"]] == [("default.sales", 4, 2)]
    one = get(port, "/tables/sales").json
    assert one["lsn"] == 4
    assert [(each["name"], each["type"]) for each in one["columns"]] == [("region", "string"), ("total", "int64")]


def test_a_page_has_the_events_after_a_position(port: int) -> None:
    page = get(port, "/tables/sales/changes").json
    assert page["ok"] is True
    assert (page["table"], page["next_lsn"], page["more"]) == ("default.sales", 4, False)
    assert [{name: event[name] for name in event if name not in ("ts_ms", "version")} for event in page["events"]] == [
        {"lsn": 1, "op": "insert", "after": row("east", 5)},
        {"lsn": 2, "op": "insert", "after": row("west", 1)},
        {"lsn": 3, "op": "delete", "before": row("west", 1)},
        {"lsn": 4, "op": "update", "before": row("east", 5), "after": row("east", 6)},
    ]
    assert [event["lsn"] for event in get(port, "/tables/sales/changes", since_lsn=2).json["events"]] == [3, 4]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_of_any_size_give_every_event_once(port: int, table: PublishedTable, limit: int) -> None:
    table.commit(put=[row(f"r{number}", number) for number in range(7)])
    seen, since, more = [], 0, True
    while more:
        page = get(port, "/tables/sales/changes", since_lsn=since, limit=limit).json
        assert 0 < len(page["events"]) <= limit
        seen += [event["lsn"] for event in page["events"]]
        since, more = page["next_lsn"], page["more"]
    assert seen == list(range(1, 12))


def test_a_refresh_is_one_event_with_all_rows(port: int, table: PublishedTable) -> None:
    table.commit(put=[row("north", 1), row("south", 2)], anew=True)
    page = get(port, "/tables/sales/changes", since_lsn=4, limit=1).json
    assert [(event["lsn"], event["op"], event["rows"]) for event in page["events"]] == [
        (5, "refresh", [row("north", 1), row("south", 2)])
    ]


def test_debezium_envelopes_are_numbered_by_position(port: int) -> None:
    page = get(port, "/tables/sales/changes", format="debezium").json
    assert [(event["op"], event["source"]["sequence"]) for event in page["events"]] == [
        ("c", 1),
        ("c", 2),
        ("d", 3),
        ("u", 4),
    ]
    assert page["events"][0]["source"] == {"name": "penstock", "db": "default", "table": "sales", "sequence": 1}
    assert "before" not in page["events"][0]
    assert "after" not in page["events"][2]


def test_rows_and_columns_are_chosen(port: int, table: PublishedTable) -> None:
    page = get(port, "/tables/sales/changes", where="total > 5", columns="TOTAL").json
    # The row came into the choice when it changed.
    assert [(event["lsn"], event["op"], event["after"]) for event in page["events"]] == [(4, "insert", {"total": 6})]
    table.commit(put=[row("small", 1)])
    page = get(port, "/tables/sales/changes", since_lsn=4, where="total > 5").json
    assert (page["events"], page["next_lsn"], page["more"]) == ([], 5, False)


def test_events_of_a_cut_commit_stay_in_the_order_of_their_positions(port: int, table: PublishedTable) -> None:
    table.commit(put=[row("a", 9), row("b", 9), row("c", 1)])
    table.commit(put=[row("a", 10), row("b", 1), row("c", 9)], drop=[row("east", 6)])
    everything = get(port, "/tables/sales/changes", since_lsn=7, where="total > 5").json["events"]
    assert [event["lsn"] for event in everything] == [8, 9, 10, 11]
    assert [event["op"] for event in everything] == ["delete", "update", "delete", "insert"]
    one = [get(port, "/tables/sales/changes", since_lsn=at, limit=1, where="total > 5").json for at in (7, 8, 9, 10)]
    assert [page["events"][0] for page in one] == everything


def test_a_long_poll_is_answered_when_something_is_committed(port: int, table: PublishedTable) -> None:
    began = time.monotonic()
    later = threading.Timer(0.3, lambda: table.commit(put=[row("north", 1)]))
    later.start()
    page = get(port, "/tables/sales/changes", since_lsn=4, wait=55).json
    later.join()
    assert [event["lsn"] for event in page["events"]] == [5]
    assert time.monotonic() - began < 50


def test_a_long_poll_with_nothing_to_tell_ends_empty(port: int, table: PublishedTable) -> None:
    assert get(port, "/tables/sales/changes", since_lsn=4, wait=0.2).json["events"] == []
    # A commit that is not chosen is no reason to answer, but the cursor goes over it in the end.
    later = threading.Timer(0.2, lambda: table.commit(put=[row("north", 1)]))
    later.start()
    page = get(port, "/tables/sales/changes", since_lsn=4, wait=1, where="total > 5").json
    later.join()
    assert page["events"] == []


class AfterReads:
    """In place of a timer: it goes off during the third read, however long that takes."""

    def __init__(self, running: list[AfterReads], seconds: float, end: Callable[[], object]) -> None:
        assert seconds == table_changes.READING_SECONDS
        self._running, self._end = running, end
        self._left = 3

    def start(self) -> None:
        self._running.append(self)

    def cancel(self) -> None:
        self._running.remove(self)

    def read(self) -> None:
        self._left -= 1
        if not self._left:
            self._end()


@pytest.mark.parametrize(("where", "found"), [("total < 0", []), ("total IN (3, 10, 17)", [7, 14, 21])])
def test_a_page_that_finds_nothing_ends_in_time_and_the_next_goes_on(
    port: int, table: PublishedTable, monkeypatch: pytest.MonkeyPatch, where: str, found: list[int]
) -> None:
    for number in range(20):
        table.commit(put=[row(f"region {number}", number + 1)])
    read, running = TableFeed.changes, list[AfterReads]()

    def counted(feed: TableFeed, entry: Entry) -> CommitChanges:
        for timer in list(running):
            timer.read()
        return read(feed, entry)

    monkeypatch.setattr(TableFeed, "changes", counted)
    monkeypatch.setattr(threading, "Timer", partial(AfterReads, running))
    at, pages, events = 4, [], []
    while True:
        page = get(port, "/tables/sales/changes", since_lsn=at, where=where).json
        pages.append(page)
        events += [event["lsn"] for event in page["events"]]
        assert page["next_lsn"] > at
        at = page["next_lsn"]
        if not page["more"]:
            break
    assert (at, events) == (24, found)
    assert len(pages) > 2
    assert any(not page["events"] and page["more"] for page in pages)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"since_lsn": "seven"}, "since_lsn = 'seven' is refused"),
        ({"since_lsn": "-1"}, "since_lsn = '-1' is refused"),
        ({"since_lsn": "١"}, "since_lsn = '١' is refused"),
        ({"limit": "0"}, "limit = '0' is refused"),
        ({"limit": "10001"}, "limit = '10001' is refused"),
        ({"limit": "9" * 5000}, "limit = "),
        ({"wait": "nan"}, "wait = 'nan' is refused"),
        ({"format": "xml"}, "format = 'xml' is refused"),
        ({"since": "1"}, "since = '1' is refused"),
        ({"columns": "nothing"}, "column not found: nothing"),
        ({"where": "total >"}, ""),
        ({"where": "nothing = 1"}, "column not found: nothing"),
    ],
)
def test_what_cannot_be_read_is_a_400_with_the_reason(port: int, parameters: dict[str, Any], reason: str) -> None:
    got = get(port, "/tables/sales/changes", **parameters)
    assert got.status == 400
    assert reason in got.json["error"]["message"]
    assert got.json["error"]["hint"]


def test_a_parameter_given_twice_is_refused(port: int) -> None:
    assert get(port, "/tables/sales/changes?limit=1&limit=2").status == 400


def test_a_table_that_is_not_there_is_a_404(port: int) -> None:
    got = get(port, "/tables/sale/changes")
    assert (got.status, got.condition) == (404, "STREAM_TABLE_NOT_FOUND")
    assert "default.sales" in got.json["error"]["hint"]
    assert get(port, "/nothing").condition == "HTTP_404"


def test_a_position_ahead_is_refused(port: int) -> None:
    got = get(port, "/tables/sales/changes", since_lsn=5)
    assert (got.status, got.condition) == (400, "NOT_REACHED")


def test_what_is_no_longer_retained_is_a_410_with_the_earliest(port: int, table: PublishedTable) -> None:
    table.commit(put=[row("east", 10)])
    table.storage.pin().handle.create_checkpoint()
    for number in range(3):
        table.commit(put=[row("east", 20 + number)])
    # What Delta's own clean-up leaves: a checkpoint, and the commits from there on.
    for version in range(3):
        (Path(table.storage.path) / "_delta_log" / f"{version:020d}.json").unlink()
    got = get(port, "/tables/sales/changes", since_lsn=1)
    assert (got.status, got.condition) == (410, "NOT_RETAINED")
    earliest = got.json["error"]["earliest"]
    kept = get(port, "/tables/sales/changes", since_lsn=earliest - 1).json["events"]
    assert [event["lsn"] for event in kept] == list(range(earliest, 9))


def test_only_get_is_answered(port: int) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", "/tables")
    assert connection.getresponse().status == 405
    connection.close()


def test_health_counts_and_names_no_table(port: int) -> None:
    got = get(port, "/health")
    assert got.json["stream_tables"] == 1
    assert b"sales" not in got.body
    assert get(port, "/ready").json == {"ok": True}
