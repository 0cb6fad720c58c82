"""Events as JSON: what is in them, and in which order, also where rows were chosen and commits cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import Format, all_rows, refresh_event, row_events
from penstock.testing.published import Published, PublishedTable


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def table(world: Published) -> PublishedTable:
    made = world.keyed("t", {"k": "long", "v": "long"}, key=("k",))
    made.commit(put=[row(1, 9), row(2, 9), row(3, 1), row(4, 9)])
    made.commit(put=[row(1, 10), row(2, 1), row(3, 9), row(5, 9)], drop=[row(4, 9)])
    return made


def row(key: int, value: int) -> dict[str, int]:
    return {"k": key, "v": value}


def commit(world: Published, since: int, **options: Any) -> CommitChanges:
    with world.tables.subscribe("t", lsn=since, **options) as subscription:
        found = subscription.next_commit(5)
        assert found is not None
        return found


def test_every_kind_has_its_rows(world: Published) -> None:
    lsns, bodies = row_events(commit(world, 4), "json")
    assert lsns == [5, 6, 7, 8, 9]
    events = [json.loads(body) for body in bodies]
    assert [(event["lsn"], event["op"], event.get("before"), event.get("after")) for event in events] == [
        (5, "delete", row(4, 9), None),
        (6, "update", row(1, 9), row(1, 10)),
        (7, "update", row(2, 9), row(2, 1)),
        (8, "update", row(3, 1), row(3, 9)),
        (9, "insert", None, row(5, 9)),
    ]
    assert {event["version"] for event in events} == {2}
    assert all(body.startswith(b'{"lsn":') and b" " not in body for body in bodies)


@pytest.mark.parametrize("form", ["json", "debezium"])
def test_chosen_events_stand_in_the_order_of_their_positions(world: Published, form: Format) -> None:
    # An update out of the choice is a delete, one into it an insert; both stand among the updates.
    lsns, bodies = row_events(commit(world, 4, where="v > 5"), form)
    events = [json.loads(body) for body in bodies]
    told = [
        (event["lsn"], event["op"]) if form == "json" else (event["source"]["sequence"], event["op"])
        for event in events
    ]
    kinds = ["delete", "update", "delete", "insert", "insert"] if form == "json" else ["d", "u", "d", "c", "c"]
    assert told == list(zip([5, 6, 7, 8, 9], kinds, strict=True))
    assert lsns == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_a_commit_is_cut_by_positions_and_not_by_kinds(world: Published, count: int) -> None:
    whole = commit(world, 4, where="v > 5")
    first = whole.first(count)
    lsns, bodies = row_events(first, "json")
    assert lsns == [5, 6, 7, 8, 9][:count]
    assert bodies == row_events(whole, "json")[1][:count]
    assert first.last_lsn == (4 + count if count < 5 else 9)
    assert first.events == min(count, 5)


def test_all_rows_are_one_event_or_rows_that_were_read(world: Published, table: PublishedTable) -> None:
    table.commit(put=[row(7, 7), row(8, 8)], anew=True)
    refresh = commit(world, 9)
    assert json.loads(refresh_event(refresh)) == {
        "lsn": 10,
        "op": "refresh",
        "version": 3,
        "ts_ms": json.loads(refresh_event(refresh))["ts_ms"],
        "rows": [row(7, 7), row(8, 8)],
    }
    assert [json.loads(body) for body in all_rows(refresh, "json")] == [row(7, 7), row(8, 8)]
    envelopes = [json.loads(body) for body in all_rows(refresh, "debezium")]
    assert [(each["op"], each["source"]["sequence"], each["after"]) for each in envelopes] == [
        ("r", 10, row(7, 7)),
        ("r", 10, row(8, 8)),
    ]
