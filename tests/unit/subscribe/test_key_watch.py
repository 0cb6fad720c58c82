"""Watching keys of stream tables, over real commits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.changes.wire.kv_watch_event import KvWatchEvent
from penstock.errors import NoKey, NotReached
from penstock.subscribe.key_watch import KeyWatch
from penstock.testing.published import Published, PublishedTable


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def cities(world: Published) -> PublishedTable:
    return world.keyed("cities", {"region": "string", "city": "string", "total": "long"}, key=("region", "city"))


def city(region: str, name: str, total: int) -> dict[str, Any]:
    return {"region": region, "city": name, "total": total}


def all_of(watch: KeyWatch) -> list[tuple[int, str, str, Any, Any]]:
    with watch:
        found: list[KvWatchEvent] = []
        while (event := watch.try_next()) is not None:
            found.append(event)
    return [
        (
            event.lsn,
            event.op.value,
            event.key,
            event.before and event.before["total"],
            event.after and event.after["total"],
        )
        for event in found
    ]


def test_a_single_key_is_followed_through_its_life(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", "Paris", 1), city("eu", "Rome", 1)])
    cities.commit(put=[city("eu", "Paris", 2), city("us", "Paris", 5)])
    cities.commit(drop=[city("eu", "Paris", 2)])
    assert all_of(world.tables.watch("cities", "eu.Paris", 0)) == [
        (1, "insert", "eu.Paris", None, 1),
        (3, "update", "eu.Paris", 1, 2),
        (5, "delete", "eu.Paris", 2, None),
    ]
    assert all_of(world.tables.watch("cities", "eu.Paris", 3)) == [(5, "delete", "eu.Paris", 2, None)]
    assert all_of(world.tables.watch("cities", "eu.Oslo", 0)) == []


def test_a_prefix_is_all_keys_that_begin_so(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", "Paris", 1), city("eu.x", "Paris", 1), city("us", "Paris", 1), city("eu", "Rome", 2)])
    assert [key for _, _, key, _, _ in all_of(world.tables.watch("cities", "eu.*", 0))] == ["eu.Paris", "eu.Rome"]
    assert [key for _, _, key, _, _ in all_of(world.tables.watch("cities", r"eu\.x.*", 0))] == [r"eu\.x.Paris"]


def test_all_rows_anew_are_told_as_what_they_mean(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", "Paris", 1), city("eu", "Rome", 1)])
    cities.commit(put=[city("eu", "Rome", 7), city("eu", "Oslo", 8)], anew=True)
    assert all_of(world.tables.watch("cities", "eu.Rome", 2)) == [(3, "refresh", "eu.Rome", None, 7)]
    assert all_of(world.tables.watch("cities", "eu.Paris", 2)) == [(3, "refresh", "eu.Paris", None, None)]
    assert all_of(world.tables.watch("cities", "eu.*", 2)) == [
        (3, "refresh", "eu.*", None, None),
        (3, "refresh", "eu.Oslo", None, 8),
        (3, "refresh", "eu.Rome", None, 7),
    ]


def test_without_a_position_it_begins_now(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", "Paris", 1)])
    with world.tables.watch("cities", "eu.Paris") as watch:
        assert watch.try_next() is None
        threading.Timer(0.1, lambda: cities.commit(put=[city("eu", "Paris", 2)])).start()
        event = watch.next(30)
    assert event is not None
    assert (event.lsn, event.after) == (2, {"region": "eu", "city": "Paris", "total": 2})


def test_iterating_ends_after_the_idle_time(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", "Paris", 1)])
    with world.tables.watch("cities", "eu.Paris", 0) as watch:
        assert watch.idle_seconds == 60
        watch.idle_seconds = 0.1
        assert [event.lsn for event in watch] == [1]


def test_a_slow_watcher_loses_the_oldest_and_is_told_how_many(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("us", "Paris", 0)])
    with world.tables.watch("cities", "eu.*") as watch:
        cities.commit(put=[city("eu", f"{number:04d}", 1) for number in range(1000)])
        cities.commit(put=[city("us", "Rome", 0)])
        cities.commit(put=[city("eu", f"{number:04d}", 2) for number in range(100)])
        until = time.monotonic() + 30
        while watch.subscription.head < 1102 and time.monotonic() < until:
            time.sleep(0.02)
        first = watch.try_next()
    assert first is not None
    assert first.dropped_event_count == 1100 - 1024 == watch.dropped_event_count
    # After the row of another region and those that were pushed out.
    assert first.lsn == 1 + 76 + 1


def test_what_lay_there_is_read_at_the_readers_pace(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", f"{number:04d}", 1) for number in range(1500)])
    cities.commit(put=[city("eu", f"{number:04d}", 2) for number in range(1500)])
    with world.tables.watch("cities", "eu.*", 0) as watch:
        first = watch.try_next()
        cities.commit(put=[city("eu", "0000", 3)])
        rest = [watch.next(30) for _ in range(3000)]
    assert first is not None
    found = [first, *(event for event in rest if event is not None)]
    assert [event.lsn for event in found] == list(range(1, 3002))
    assert {event.dropped_event_count for event in found} == {0}


def test_following_on_an_event_loop_drops_nothing(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", f"{number:04d}", 1) for number in range(2000)])

    async def positions() -> list[int]:
        found: list[int] = []
        with world.tables.watch("cities", "eu.*", 0) as watch:
            async for event in watch.follow():
                found.append(event.lsn)
                if len(found) == 2000:
                    await asyncio.to_thread(
                        cities.commit, put=[city("eu", f"{number:04d}", 2) for number in range(1500)]
                    )
                if len(found) == 3500:
                    break
        return found

    assert asyncio.run(positions()) == list(range(1, 3501))


def test_rows_without_a_key_cannot_be_watched(world: Published) -> None:
    bag = world.bag("log", {"x": "long"})
    bag.commit(put=[{"x": 1}])
    with pytest.raises(NoKey, match=r"default\.log has no key"):
        world.tables.watch("log", "1")


def test_a_position_ahead_of_the_table_is_refused(world: Published, cities: PublishedTable) -> None:
    cities.commit(put=[city("eu", "Paris", 1)])
    with pytest.raises(NotReached):
        world.tables.watch("cities", "eu.Paris", 2)
