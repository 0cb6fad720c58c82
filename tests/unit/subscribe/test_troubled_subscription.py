"""Subscriptions in trouble: files that cannot be read, waits that are given up, tables made again, orderly ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Update, Watermark
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.errors import InvalidValue, StorageUnreachable, SubscriptionEnded
from penstock.subscribe import event_queue, feed
from penstock.subscribe.table_feed import TableFeed
from penstock.testing.published import Published, PublishedTable

WAIT = 60.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def bag(world: Published) -> PublishedTable:
    made = world.bag("bag", {"v": "long"})
    made.commit(put=[{"v": 0}], anew=True)
    return made


def failing(monkeypatch: pytest.MonkeyPatch, times: int, error: Exception) -> None:
    """The first reads of commits fail."""
    read, left = Changelog.changes, [times]

    def changes(changelog: Changelog, entry: Entry) -> CommitChanges:
        if left[0]:
            left[0] -= 1
            raise error
        return read(changelog, entry)

    monkeypatch.setattr(Changelog, "changes", changes)


def test_a_commit_that_cannot_be_read_waits(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for v in (1, 2):
        bag.commit(put=[{"v": v}])
    failing(monkeypatch, 2, OSError(24, "Too many open files"))
    with world.tables.subscribe("bag", lsn=0, durable="patient") as subscription:
        for _ in range(2):
            with pytest.raises(OSError, match="Too many"):
                subscription.next(WAIT)
        assert subscription.acknowledge() == 0
        assert [subscription.next(WAIT).dicts() for _ in range(3)] == [[{"v": 0}], [{"v": 1}], [{"v": 2}]]


def test_a_commit_whose_events_cannot_be_made_waits(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag.commit(put=[{"v": 1}])
    make, left = event_queue.events_of, [2]

    def events_of(changes: CommitChanges) -> list[ChangeEvent]:
        if left[0]:
            left[0] -= 1
            raise MemoryError
        return make(changes)

    monkeypatch.setattr(event_queue, "events_of", events_of)
    with world.tables.subscribe("bag", lsn=0, durable="patient") as subscription:
        with pytest.raises(MemoryError):
            subscription.next(WAIT)
        assert (subscription.position, subscription.delivered, subscription.acknowledge()) == (0, 0, 0)

        async def first() -> ChangeEvent:
            return await anext(aiter(subscription))

        with pytest.raises(MemoryError):
            asyncio.run(first())
        assert [subscription.next(WAIT).dicts() for _ in range(2)] == [[{"v": 0}], [{"v": 1}]]
        assert subscription.acknowledge() == 2


def test_commits_arrive_while_a_subscriber_makes_events(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag.commit(put=[{"v": 1}])
    make, begun, may_go_on = event_queue.events_of, threading.Event(), threading.Event()

    def events_of(changes: CommitChanges) -> list[ChangeEvent]:
        begun.set()
        assert may_go_on.wait(WAIT)
        return make(changes)

    monkeypatch.setattr(event_queue, "events_of", events_of)
    with world.tables.subscribe("bag", lsn=1) as slow, world.tables.subscribe("bag") as other:
        taken: list[ChangeEvent | None] = []
        taker = threading.Thread(target=lambda: taken.append(slow.next(WAIT)))
        taker.start()
        assert begun.wait(WAIT)
        try:
            bag.commit(put=[{"v": 2}])
            assert other.next_commit(WAIT) is not None
            assert (slow.position, slow.metrics().lag) == (1, 2)
        finally:
            may_go_on.set()
            taker.join()
        assert [each.dicts() for each in taken if each is not None] == [[{"v": 1}]]


def test_what_was_read_as_a_commit_can_be_taken_event_by_event(world: Published, bag: PublishedTable) -> None:
    bag.commit(put=[{"v": 1}])
    with world.tables.subscribe("bag", lsn=1) as subscription:
        # As where somebody stopped waiting for the commit after it was read.
        subscription._fetcher.fetch()
        assert subscription.next(WAIT).dicts() == [{"v": 1}]


def test_trouble_with_one_table_stops_nobody(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = world.bag("other", {"v": "long"})
    other.commit(put=[{"v": 0}], anew=True)
    bad, good = world.tables.subscribe("bag"), world.tables.subscribe("other")
    look = TableFeed.new_commits

    def looked(table: TableFeed) -> list[Entry]:
        if table.name.endswith("bag"):
            raise OSError(5, "Input/output error")
        return look(table)

    # Not while the feed reads the log, which would still see the commit.
    with bad._table.turn:
        monkeypatch.setattr(TableFeed, "new_commits", looked)
    bag.commit(put=[{"v": 1}])
    other.commit(put=[{"v": 1}])
    assert isinstance(good.next(WAIT), Insert)
    assert bad.next(0.2) is None
    monkeypatch.setattr(TableFeed, "new_commits", look)
    assert isinstance(bad.next(WAIT), Insert)


def test_a_loop_that_is_closed_wakes_nobody(world: Published, bag: PublishedTable) -> None:
    subscription = world.tables.subscribe("bag")
    loop = asyncio.new_event_loop()
    waiting: asyncio.Task[Any] = loop.create_task(anext(aiter(subscription)))  # type: ignore[arg-type]
    loop.run_until_complete(asyncio.sleep(0.05))
    with world.tables.subscribe("bag") as other:
        waiting.get_coro().close()
        loop.close()
        bag.commit(put=[{"v": 1}])
        assert isinstance(other.next(WAIT), Insert)


def test_a_wait_that_is_given_up_in_the_middle_of_a_read_loses_nothing(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag.commit(put=[{"v": 1}])
    read = Changelog.changes

    def slow(changelog: Changelog, entry: Entry) -> CommitChanges:
        time.sleep(0.3)
        return read(changelog, entry)

    monkeypatch.setattr(Changelog, "changes", slow)

    async def follow() -> list[Any]:
        subscription = world.tables.subscribe("bag", lsn=0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(aiter(subscription)), 0.05)
        seen: list[Any] = []
        async for event in subscription:
            seen += event.dicts()
            if len(seen) == 2:
                subscription.cancel()
        return seen

    assert asyncio.run(follow()) == [{"v": 0}, {"v": 1}]


def test_the_rest_of_a_commit_comes_after_a_break(world: Published) -> None:
    sales = world.keyed("sales", {"k": "long", "v": "long"}, ("k",))
    sales.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}], anew=True)
    sales.commit(put=[{"k": 1, "v": 2}, {"k": 3, "v": 1}], drop=[{"k": 2}])

    async def follow() -> list[type[ChangeEvent]]:
        subscription = world.tables.subscribe("sales", lsn=2)
        seen: list[type[ChangeEvent]] = []
        for _ in range(3):
            async for event in subscription:
                seen.append(type(event))
                break
        subscription.cancel()
        return seen

    assert asyncio.run(asyncio.wait_for(follow(), WAIT)) == [Delete, Update, Insert]


def test_nothing_is_given_while_it_is_paused_or_after_it_is_cancelled(world: Published) -> None:
    sales = world.keyed("sales", {"k": "long", "v": "long"}, ("k",))
    sales.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}], anew=True)
    sales.commit(put=[{"k": 1, "v": 2}, {"k": 3, "v": 1}], drop=[{"k": 2}])
    subscription = world.tables.subscribe("sales", lsn=2)
    assert isinstance(subscription.next(WAIT), Delete)
    subscription.pause()
    assert subscription.next(0.05) is None
    subscription.resume()
    assert isinstance(subscription.next(WAIT), Update)
    subscription.cancel()
    assert subscription.next(0.05) is None


def test_a_table_made_again_is_another_table(world: Published, bag: PublishedTable) -> None:
    old = world.tables.subscribe("bag")
    catalog = world.tables._warehouse.catalog
    catalog.delete(catalog.get_by_name(world.tables._find("bag").name).id)
    # The storage of the old one is left behind, and somebody still follows it.
    again = world.bag("bag", {"v": "long"})
    again.commit(put=[{"v": 7}], anew=True)
    new = world.tables.subscribe("bag", start="snapshot")
    first = new.next(WAIT)
    assert isinstance(first, Snapshot)
    assert first.dicts() == [{"v": 7}]
    again.commit(put=[{"v": 8}])
    assert isinstance(new.next(WAIT), Insert)
    assert old.next(0.05) is None


def test_a_late_feed_tells_nothing_twice(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.tables.subscribe("bag")
    look = TableFeed.new_commits

    def unreachable(table: TableFeed) -> list[Entry]:
        raise StorageUnreachable(name=table.name, why="for a moment")

    # Not while the feed reads the log, which would still see the commit.
    with first._table.turn:
        monkeypatch.setattr(TableFeed, "new_commits", unreachable)
    bag.commit(put=[{"v": 1}])
    with world.tables.subscribe("bag", start="snapshot") as second:
        monkeypatch.setattr(TableFeed, "new_commits", look)
        assert isinstance(first.next(WAIT), Insert)
        snapshot = second.next(WAIT)
        assert isinstance(snapshot, Snapshot)
        assert snapshot.row_count() == 2
        assert second.next(0.2) is None


def test_a_net_change_is_acknowledged_as_a_whole(world: Published) -> None:
    sales = world.keyed("sales", {"k": "long", "v": "long"}, ("k",))
    sales.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}], anew=True)
    sales.commit(put=[{"k": 1, "v": 2}])
    sales.commit(put=[{"k": 3, "v": 1}], drop=[{"k": 2}])
    with world.tables.subscribe("sales", lsn=2, delivery="net", durable="net") as subscription:
        assert isinstance(subscription.next(WAIT), Delete)
        assert subscription.acknowledge() == 2
        assert [type(subscription.next(WAIT)) for _ in range(2)] == [Update, Insert]
        assert subscription.acknowledge() == 5


def test_a_snapshot_that_was_not_given_cannot_be_acknowledged(world: Published, bag: PublishedTable) -> None:
    with world.tables.subscribe("bag", start="snapshot", durable="copy") as subscription:
        with pytest.raises(InvalidValue, match="acknowledge"):
            subscription.acknowledge()
        assert isinstance(subscription.next(WAIT), Snapshot)
        assert subscription.acknowledge() == 1


def test_a_net_change_leaves_nothing_out(world: Published, bag: PublishedTable) -> None:
    with pytest.raises(InvalidValue, match="policy"):
        world.tables.subscribe("bag", delivery="net", policy="drop_oldest")


def test_watermarks_only_rise(world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only the commit tells one, not the catalog before it.
    monkeypatch.setattr(feed, "PROGRESS_SECONDS", 3600.0)
    with world.tables.subscribe("bag", progress=True) as subscription:
        bag.commit(put=[{"v": 1}])
        events = [subscription.next(WAIT) for _ in range(2)]
        assert isinstance(events[1], Watermark)
        subscription.progressed(world.tables.changelog("bag").newest().record.data_timestamp.replace(year=2020))
        assert subscription.next(0.1) is None


def test_closing_a_warehouse_ends_its_subscriptions(tmp_path: Path) -> None:
    ended = threading.Event()
    with Published.open(tmp_path) as world:
        bag = world.bag("bag", {"v": "long"})
        bag.commit(put=[{"v": 0}], anew=True)
        subscription = world.tables.subscribe("bag")
        running = world.tables.on_change("bag", lambda event: None, on_complete=ended.set)
        waiting = threading.Thread(target=lambda: list(subscription))
        waiting.start()
        feed = world.tables._feed
    waiting.join(WAIT)
    assert not waiting.is_alive()
    assert running.wait(WAIT)
    assert ended.is_set()
    with pytest.raises(SubscriptionEnded, match="closed"):
        feed.follow(subscription._table.changelog, subscription, 0)


def test_errors_of_any_kind_reach_the_callback(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag.commit(put=[{"v": 1}])
    failing(monkeypatch, 1, OSError(5, "Input/output error"))
    told: list[Exception] = []
    running = world.tables.on_change("bag", print, on_error=told.append, lsn=0)
    assert running.wait(WAIT)
    assert [type(error) for error in told] == [OSError]
