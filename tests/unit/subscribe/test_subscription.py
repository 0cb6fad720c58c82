"""Subscriptions over hand-made commits: nothing missed, nothing twice, and every drop counted."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Update, Watermark
from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.errors import (
    InvalidFilter,
    InvalidValue,
    NotReached,
    SubscriptionEnded,
    SubscriptionExists,
    SubscriptionNotFound,
)
from penstock.subscribe import feed, table_feed
from penstock.subscribe.subscription import Subscription
from penstock.testing.published import Published, PublishedTable

WAIT = 60.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def bag(world: Published) -> PublishedTable:
    made = world.bag("bag", {"v": "long", "w": "string"})
    made.commit(put=[row(0)], anew=True)
    return made


def row(v: int, w: str = "x") -> dict[str, Any]:
    return {"v": v, "w": w}


def values(subscription: Subscription, count: int) -> list[int]:
    """The inserted values of so many commits."""
    found: list[int] = []
    for _ in range(count):
        changes = subscription.next_commit(WAIT)
        assert changes is not None
        found += changes.inserts.column("v").to_pylist()
    return found


def test_changes_after_now_in_order(world: Published, bag: PublishedTable) -> None:
    with world.tables.subscribe("bag") as subscription:
        assert subscription.next(0.05) is None
        for v in (1, 2, 3):
            bag.commit(put=[row(v)])
        assert values(subscription, 3) == [1, 2, 3]
        metrics = subscription.metrics()
        assert (metrics.delivered, metrics.dropped, metrics.lag, metrics.position) == (3, 0, 0, 4)


def test_a_snapshot_then_changes_without_gap_or_overlap(world: Published, bag: PublishedTable) -> None:
    stop = threading.Event()

    def write() -> None:
        v = 1
        while not stop.is_set():
            bag.commit(put=[row(v)])
            v += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            with world.tables.subscribe("bag", start="snapshot") as subscription:
                first = subscription.next(WAIT)
                assert isinstance(first, Snapshot)
                seen = first.data.column("v").to_pylist()
                while len(seen) < first.row_count() + 5:
                    event = subscription.next(WAIT)
                    assert isinstance(event, Insert)
                    seen += [each["v"] for each in event.dicts() or ()]
            assert sorted(seen) == list(range(len(seen)))
    finally:
        stop.set()
        writer.join()


def test_events_carry_images_and_sequences(world: Published) -> None:
    sales = world.keyed("sales", {"region": "string", "total": "long"}, ("region",))
    sales.commit(put=[{"region": "e", "total": 1}, {"region": "w", "total": 2}], anew=True)
    sales.commit(put=[{"region": "e", "total": 9}, {"region": "n", "total": 3}], drop=[{"region": "w"}])
    with world.tables.subscribe("sales", lsn=0) as subscription:
        events = [subscription.next(WAIT) for _ in range(4)]
    assert [type(event) for event in events] == [Insert, Delete, Update, Insert]
    assert [event.sequence for event in events if event is not None] == [2, 3, 4, 5]
    update = events[2]
    assert isinstance(update, Update)
    assert (update.old.column("total").to_pylist(), update.new.column("total").to_pylist()) == ([1], [9])
    assert update.dicts() == [{"region": "e", "total": 9}]


def test_a_start_inside_a_commit_gives_the_rest_of_it(world: Published, bag: PublishedTable) -> None:
    bag.commit(put=[row(v) for v in range(1, 6)])
    for delivery in ("every", "net"):
        with world.tables.subscribe("bag", lsn=3, delivery=delivery) as subscription:
            assert values(subscription, 1) == [3, 4, 5]


def test_net_gives_all_that_waits_as_one(world: Published, bag: PublishedTable) -> None:
    with world.tables.subscribe("bag", delivery="net") as subscription:
        subscription.pause()
        for v in (1, 2, 3):
            bag.commit(put=[row(v)])
        bag.commit(drop=[row(2)])
        wait_until(lambda: len(subscription._inbox._commits) == 4)
        assert subscription.resume()
        changes = subscription.next_commit(WAIT)
        assert changes is not None
        assert changes.inserts.column("v").to_pylist() == [1, 3]
        assert subscription.position == 5


def test_conditions_and_columns(world: Published) -> None:
    sales = world.keyed("sales", {"region": "string", "total": "long", "note": "string"}, ("region",))
    with pytest.raises(NotReached, match="the first state"):
        world.tables.subscribe("sales")
    sales.commit(put=[_sale("a", 5), _sale("b", 20)], anew=True)
    with world.tables.subscribe("sales", lsn=0, where="total > 10", columns=["region"]) as subscription:
        sales.commit(put=[_sale("a", 50), _sale("b", 30)])
        sales.commit(put=[_sale("a", 1)], drop=[_sale("b", 0)])
        told = [subscription.next_commit(WAIT) for _ in range(3)]
    rows = [changes.dicts() for changes in told if changes is not None]
    assert [[(each["_lsn"], each["_op"], each["region"]) for each in commit] for commit in rows] == [
        [(2, "+I", "b")],
        # b changed in no chosen column, and a has come into the choice.
        [(3, "+I", "a")],
        # b went as such, and a left the choice.
        [(5, "-D", "b"), (6, "-D", "a")],
    ]
    with pytest.raises(InvalidFilter, match="column not found: price"):
        world.tables.subscribe("sales", where="price > 1")
    with pytest.raises(InvalidFilter, match="column not found: price"):
        world.tables.subscribe("sales", columns=["price"])


def test_acknowledging_inside_a_choice_skips_no_row_of_it(world: Published) -> None:
    sales = world.keyed("sales", {"region": "string", "total": "long", "note": "string"}, ("region",))
    sales.commit(put=[_sale(name, 20) for name in "abcd"], anew=True)
    # a leaves the choice, b stays in it, c goes, d is not touched, e comes.
    sales.commit(put=[_sale("a", 1), _sale("b", 30), _sale("e", 40)], drop=[_sale("c", 0)])
    with world.tables.subscribe("sales", lsn=4, where="total > 10", durable="picky") as subscription:
        assert isinstance(subscription.next(WAIT), Delete)
        assert subscription.acknowledge() == 6
    told = []
    with world.tables.subscribe("sales", durable="picky", where="total > 10") as again:
        while (event := again.next(0.3)) is not None:
            told.append((type(event), [row["region"] for row in event.dicts()]))
    assert told == [(Update, ["b"]), (Insert, ["e"])]


def test_columns_may_be_called_like_the_marks(world: Published) -> None:
    odd = world.bag("odd", {"_op": "string", "_LSN": "long"})
    odd.commit(put=[{"_op": "mine", "_LSN": 7}])
    with world.tables.subscribe("odd", lsn=0) as subscription:
        changes = subscription.next_commit(WAIT)
    assert changes is not None
    assert changes.dicts() == [{"__lsn": 1, "__op": "+I", "_weight": 1, "_op": "mine", "_LSN": 7}]


def _sale(region: str, total: int) -> dict[str, Any]:
    return {"region": region, "total": total, "note": str(total)}


@pytest.mark.parametrize(
    ("policy", "kept", "dropped"),
    [
        ("block", [1, 2, 3, 4, 5], 0),
        ("drop_oldest", [4, 5], 3),
        ("drop_newest", [1, 2], 3),
        ("sample(2)", [2, 4], 3),
    ],
)
def test_policies_drop_what_they_say_and_count_it(
    world: Published, bag: PublishedTable, policy: str, kept: list[int], dropped: int
) -> None:
    with world.tables.subscribe("bag", policy=policy, buffer=2) as subscription:
        subscription.pause()
        for v in range(1, 6):
            newest = bag.commit(put=[row(v)])
        wait_until(lambda: subscription.head == newest.first_lsn)
        subscription.resume()
        assert values(subscription, len(kept)) == kept
        assert subscription.next_commit(0.05) is None
        assert subscription.dropped == dropped


def test_demand_gives_what_was_asked_for(world: Published, bag: PublishedTable) -> None:
    with world.tables.subscribe("bag", policy="demand") as subscription:
        for v in (1, 2, 3):
            bag.commit(put=[row(v)])
        assert subscription.next_commit(0.2) is None
        subscription.request(2)
        assert values(subscription, 2) == [1, 2]
        assert subscription.next_commit(0.1) is None
        subscription.request(1)
        assert values(subscription, 1) == [3]
    with pytest.raises(InvalidValue, match="request"):
        world.tables.subscribe("bag").request(1)


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "lossy"},
        {"policy": "sample(0)"},
        {"buffer": 0},
        {"delivery": "some"},
        {"start": "later"},
        {"lsn": -1},
    ],
)
def test_bad_options_are_refused(world: Published, bag: PublishedTable, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        world.tables.subscribe("bag", **options)
    with pytest.raises(InvalidValue, match="one point"):
        world.tables.subscribe("bag", lsn=1, version=1)


def test_a_durable_subscription_goes_on_after_what_it_acknowledged(world: Published, bag: PublishedTable) -> None:
    with world.tables.subscribe("bag", durable="billing") as subscription:
        for v in (1, 2, 3):
            bag.commit(put=[row(v)])
        assert values(subscription, 2) == [1, 2]
        assert subscription.acknowledge() == 3
    with world.tables.subscribe("bag", durable="billing", start="now") as again:
        assert values(again, 1) == [3]
        with pytest.raises(InvalidValue, match="which was given last"):
            again.acknowledge(99)
        again.acknowledge(2)
    assert [(each.name, each.acknowledged) for each in world.tables.subscriptions()] == [("billing", 3)]
    with pytest.raises(InvalidValue, match="loses nothing"):
        world.tables.subscribe("bag", durable="lossy", policy="drop_oldest")
    world.bag("other", {"v": "long"}).commit(put=[{"v": 1}])
    with pytest.raises(SubscriptionExists, match="billing"):
        world.tables.subscribe("other", durable="billing")
    world.tables.drop_subscription("billing")
    with pytest.raises(SubscriptionNotFound):
        world.tables.drop_subscription("billing")


def test_a_durable_snapshot_comes_again_until_it_is_acknowledged(world: Published, bag: PublishedTable) -> None:
    for _ in range(2):
        with world.tables.subscribe("bag", start="snapshot", durable="copy") as subscription:
            assert isinstance(subscription.next(WAIT), Snapshot)
    subscription = world.tables.subscribe("bag", durable="copy")
    assert isinstance(subscription.next(WAIT), Snapshot)
    subscription.acknowledge()
    subscription.cancel()
    bag.commit(put=[row(1)])
    with world.tables.subscribe("bag", durable="copy") as again:
        assert isinstance(again.next(WAIT), Insert)


def test_a_position_inside_a_commit_can_be_acknowledged(world: Published) -> None:
    sales = world.keyed("sales", {"region": "string", "total": "long"}, ("region",))
    sales.commit(put=[{"region": "e", "total": 1}], anew=True)
    sales.commit(put=[{"region": "e", "total": 2}, {"region": "n", "total": 3}])
    with world.tables.subscribe("sales", lsn=1, durable="half") as subscription:
        assert isinstance(subscription.next(WAIT), Update)
        assert subscription.acknowledge() == 2
    with world.tables.subscribe("sales", durable="half") as again:
        event = again.next(WAIT)
        assert isinstance(event, Insert)
        assert event.dicts() == [{"region": "n", "total": 3}]


def test_async_for_wakes_up_once_per_commit_and_blocks_nobody(world: Published, bag: PublishedTable) -> None:
    async def follow() -> tuple[list[int], float]:
        seen: list[int] = []
        longest = 0.0
        done = asyncio.Event()

        async def beat() -> None:
            nonlocal longest
            while not done.is_set():
                started = time.perf_counter()
                await asyncio.sleep(0.001)
                longest = max(longest, time.perf_counter() - started)

        heart = asyncio.create_task(beat())
        subscription = world.tables.subscribe("bag", start="snapshot")
        writer = asyncio.to_thread(lambda: [bag.commit(put=[row(v)]) for v in range(1, 6)])
        task = asyncio.create_task(writer)
        async for event in subscription:
            seen += [each["v"] for each in event.dicts() or ()]
            if len(seen) == 6:
                subscription.cancel()
        await task
        done.set()
        await heart
        return seen, longest

    seen, _ = asyncio.run(follow())
    assert seen == [0, 1, 2, 3, 4, 5]


def test_a_cancelled_task_loses_nothing(world: Published, bag: PublishedTable) -> None:
    async def follow() -> list[int]:
        subscription = world.tables.subscribe("bag")
        events = aiter(subscription)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(events), 0.05)
        await asyncio.to_thread(bag.commit, put=[row(1)])
        async for event in subscription:
            subscription.cancel()
            return [each["v"] for each in event.dicts() or ()]
        return []

    assert asyncio.run(follow()) == [1]


def test_callbacks_go_on_after_errors_that_somebody_hears_of(world: Published, bag: PublishedTable) -> None:
    seen: list[ChangeEvent] = []
    errors: list[str] = []
    ended = threading.Event()

    def call(event: ChangeEvent) -> None:
        seen.append(event)
        if len(seen) == 1:
            raise ValueError("first")

    running = world.tables.on_change(
        "bag", call, on_error=lambda error: errors.append(str(error)), on_complete=ended.set
    )
    for v in (1, 2):
        bag.commit(put=[row(v)])
    wait_until(lambda: len(seen) == 2)
    assert errors == ["first"]
    running.cancel()
    assert ended.is_set()
    assert not running.is_active
    silent = world.tables.on_change("bag", lambda event: 1 / 0)
    bag.commit(put=[row(3)])
    assert silent.wait(WAIT)


def test_cancel_ends_whoever_waits(world: Published, bag: PublishedTable) -> None:
    subscription = world.tables.subscribe("bag")
    taken: list[ChangeEvent | None] = []
    waiting = threading.Thread(target=lambda: taken.append(subscription.next()))
    waiting.start()
    assert subscription.cancel()
    waiting.join(WAIT)
    assert taken == [None]
    assert not subscription.cancel()
    assert not subscription.pause()
    assert list(subscription) == []


def test_watermarks_tell_how_far_the_table_has_got(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only the commit tells it, not the catalog before it.
    monkeypatch.setattr(feed, "PROGRESS_SECONDS", 3600.0)
    with world.tables.subscribe("bag", progress=True) as subscription:
        bag.commit(put=[row(1)])
        kinds = [type(subscription.next(WAIT)) for _ in range(2)]
        assert kinds == [Insert, Watermark]


def test_a_table_that_is_gone_ends_its_subscriptions(world: Published, bag: PublishedTable) -> None:
    subscription = world.tables.subscribe("bag")
    # At once: with some of its files it would be another table.
    Path(bag.storage.path).rename(world.root / "gone")
    with pytest.raises(SubscriptionEnded, match="its storage is gone"):
        subscription.next(WAIT)


def test_rows_go_to_other_libraries_as_they_are(world: Published, bag: PublishedTable) -> None:
    import duckdb
    import polars as pl

    bag.commit(put=[row(1), row(2)])
    with world.tables.subscribe("bag", lsn=1) as subscription:
        changes = subscription.next_commit(WAIT)
    assert changes is not None
    assert pl.DataFrame(changes).shape == (2, 5)
    assert changes.polars().to_dicts() == changes.dicts() == changes.pandas().to_dict("records")
    with duckdb.connect() as connection:
        assert changes.duckdb(connection).aggregate("sum(v)").fetchall() == [(3,)]
    assert pa.table(changes) == changes.arrow()


def test_one_commit_is_read_once_for_a_thousand_subscribers(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscriptions = [world.tables.subscribe("bag") for _ in range(1000)]
    reads: list[int] = []
    changelog = subscriptions[0]._table.changelog
    read = changelog.changes
    monkeypatch.setattr(changelog, "changes", lambda entry: (reads.append(entry.version), read(entry))[1])
    bag.commit(put=[row(v) for v in range(1, 1001)])
    given = [subscription.next_commit(WAIT) for subscription in subscriptions]
    assert len(reads) == 1
    assert all(changes is given[0] for changes in given)
    for subscription in subscriptions:
        subscription.cancel()


def test_who_is_far_behind_walks_the_log_once_and_keeps_nobody_waiting(
    world: Published, bag: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_feed, "KEPT_COMMITS", 2)
    for v in range(1, 20):
        bag.commit(put=[row(v)])
    with world.tables.subscribe("bag", lsn=0, buffer=3) as subscription:
        walk = Changelog.after_version
        turn: Any = subscription._table.turn
        walks: list[tuple[int, bool]] = []

        def watched(changelog: Changelog, version: int) -> list[Entry]:
            found = walk(changelog, version)
            if threading.current_thread() is threading.main_thread():
                walks.append((len(found), turn._is_owned()))
            return found

        monkeypatch.setattr(Changelog, "after_version", watched)
        assert values(subscription, 10) == list(range(10))
        bag.commit(put=[row(20)])
        assert values(subscription, 11) == list(range(10, 21))
    assert walks == [(17, False)], "all but the three that wait, while the feed goes on"


def test_a_signal_is_noticed_whichever_thread_it_hits(world: Published, bag: PublishedTable) -> None:
    """As one that comes just before the wait begins: the interpreter has seen it, and nothing wakes the wait."""
    subscription = world.tables.subscribe("bag")
    noticed: list[int] = []

    def stop(number: int, frame: Any) -> None:
        noticed.append(number)
        threading.Thread(target=subscription.cancel).start()

    def hit() -> None:
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, stop)
    rescue = threading.Timer(WAIT, subscription.cancel)
    rescue.start()
    try:
        threading.Thread(target=hit).start()
        assert subscription.next() is None
        assert rescue.is_alive(), "nobody noticed"
    finally:
        rescue.cancel()
        signal.signal(signal.SIGUSR1, before)
    assert noticed == [signal.SIGUSR1]


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.005)
