"""Pages of all changes over real commits: from the ring, from the tables, and over what is gone."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.catalog.model import JournalEntry
from penstock.changes.ring.row_event import ChangeEvent
from penstock.errors import NotRetained, StorageUnreachable
from penstock.subscribe import all_changes
from penstock.subscribe.all_changes import AllChanges
from penstock.testing.published import Published, PublishedTable

Told = tuple[int, str, str]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def opened(world: Published) -> Iterator[list[AllChanges]]:
    held: list[AllChanges] = []
    yield held
    for each in held:
        each.close()


def ring(world: Published, opened: list[AllChanges], events: int) -> AllChanges:
    warehouse = world.tables._warehouse
    opened.append(AllChanges(warehouse.catalog, warehouse.logs, events))
    return opened[-1]


def told(events: list[ChangeEvent]) -> list[Told]:
    return [(event.lsn, event.collection, event.operation.value) for event in events]


def one(world: Published, name: str) -> PublishedTable:
    return world.keyed(name, {"k": "long", "v": "long"}, key=("k",))


def drop(world: Published, table: PublishedTable) -> None:
    """What DROP STREAM TABLE does to catalog and storage."""
    catalog = world.tables._warehouse.catalog
    catalog.delete(next(each.id for each in catalog.get_all() if each.table_id == table.storage.table_id))
    shutil.rmtree(table.storage.path)


def be_earlier(table: PublishedTable) -> None:
    """Let the first commit be of a minute ago: it might be of the same moment as the next, and then come after it."""
    entry = Path(table.storage.path) / "_delta_log" / f"{1:020d}.json"
    os.utime(entry, (entry.stat().st_mtime - 60,) * 2)


def lose(table: PublishedTable, version: int) -> None:
    """What VACUUM does to the files that a commit added."""
    root = Path(table.storage.path)
    for line in (root / "_delta_log" / f"{version:020d}.json").read_text().splitlines():
        for kind, action in json.loads(line).items():
            if kind in ("add", "cdc"):
                (root / action["path"]).unlink()


def test_a_commit_is_on_the_page_as_soon_as_it_is_made(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 100)
    assert every.page(0, 10).next_lsn == 0
    sales = one(world, "sales")
    sales.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    assert told(every.page(0, 10).events) == [(1, "default.sales", "insert"), (2, "default.sales", "insert")]
    sales.commit(put=[{"k": 1, "v": 2}], drop=[{"k": 2, "v": 1}])
    sales.commit(put=[{"k": 9, "v": 9}], anew=True)
    assert told(every.page(2, 10).events) == [
        (3, "default.sales", "delete"),
        (4, "default.sales", "update"),
        (5, "default.sales", "refresh"),
    ]
    assert every.page(5, 10).events == []


def test_ring_and_tables_tell_the_same(world: Published, opened: list[AllChanges]) -> None:
    hot = ring(world, opened, 1000)
    sales, log = one(world, "sales"), world.bag("log", {"x": "double", "t": "string"})
    sales.commit(put=[{"k": 1, "v": 1}])
    log.commit(put=[{"x": 0.5, "t": "a"}, {"x": 0.5, "t": "a"}, {"x": None, "t": None}])
    sales.commit(put=[{"k": 1, "v": 2}, {"k": 2, "v": 2}])
    log.commit(drop=[{"x": 0.5, "t": "a"}])
    log.commit(put=[{"x": 1.5, "t": "b"}], anew=True)
    hot.catch_up()
    cold = ring(world, opened, 1000)
    assert (hot.stats().buffered_events, cold.stats().buffered_events) == (8, 0)
    assert hot.page(0, 100) == cold.page(0, 100)
    assert len(hot.page(0, 100).events) == 8


def test_what_the_ring_evicts_is_counted_and_read_from_the_tables(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 3)
    sales = one(world, "sales")
    sales.commit(put=[{"k": key, "v": 1} for key in range(5)])
    sales.commit(put=[{"k": 0, "v": 2}])
    every.catch_up()
    stats = every.stats()
    assert (stats.buffered_events, stats.current_lsn, stats.oldest_lsn, stats.evicted_events) == (3, 6, 4, 3)
    assert [event.lsn for event in every.page(0, 100).events] == [1, 2, 3, 4, 5, 6]
    assert every.page(1, 2).next_lsn == 3


def test_a_ring_of_nothing_gives_every_page(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 0)
    one(world, "sales").commit(put=[{"k": key, "v": 1} for key in range(3)])
    every.catch_up()
    assert [event.lsn for event in every.page(0, 2).events] == [1, 2]
    assert every.stats().evicted_events == 3


def test_a_restart_goes_on_with_the_positions(world: Published, opened: list[AllChanges]) -> None:
    sales = one(world, "sales")
    sales.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    before = ring(world, opened, 10).page(0, 10)
    sales.commit(put=[{"k": 3, "v": 1}])
    again = ring(world, opened, 10)
    assert again.stats().current_lsn == 3
    assert again.page(0, 10).events[:2] == before.events
    assert [event.lsn for event in again.page(2, 10).events] == [3]


def test_a_cursor_ahead_of_everything_stays_where_it_is(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 10)
    one(world, "sales").commit(put=[{"k": 1, "v": 1}])
    assert every.page(2**64 - 1, 10).next_lsn == 2**64 - 1
    assert every.page(-5, 10).next_lsn == 1
    assert every.page(0, 0).next_lsn == 0


def test_tables_that_may_not_be_read_are_passed_over(world: Published, opened: list[AllChanges]) -> None:
    hot = ring(world, opened, 100)
    a, b = one(world, "a"), one(world, "b")
    for value in range(3):
        a.commit(put=[{"k": 1, "v": value}])
        hot.catch_up()
        b.commit(put=[{"k": key, "v": value} for key in range(3)])
        hot.catch_up()
    for every in (hot, ring(world, opened, 100)):
        page = every.page(0, 2, lambda name: name == "default.a")
        assert [event.lsn for event in page.events] == [1, 5]
        page = every.page(page.next_lsn, 2, lambda name: name == "default.a")
        assert ([event.lsn for event in page.events], page.next_lsn) == ([9], 12)
        assert every.page(0, 5, lambda name: False).next_lsn == 12


def test_files_that_are_gone_are_told_with_the_next_that_are_not(world: Published, opened: list[AllChanges]) -> None:
    journal = ring(world, opened, 0)
    a, b = one(world, "a"), one(world, "b")
    for value in range(3):
        a.commit(put=[{"k": key, "v": value} for key in range(2)])
        journal.catch_up()
        b.commit(put=[{"k": 1, "v": value}])
        journal.catch_up()
    lose(a, 2)
    every = ring(world, opened, 100)
    assert every.page(0, 100).next_lsn == 3
    with pytest.raises(NotRetained) as lost:
        every.page(3, 100)
    assert lost.value.facts == {
        "what": "LSN 4",
        "name": "the changes of all stream tables",
        "earliest": 6,
        "earliest_lsn": 6,
    }
    with pytest.raises(NotRetained):
        every.page(4, 100)
    assert [event.lsn for event in every.page(5, 100).events] == [6, 7, 8, 9]
    assert [event.lsn for event in every.page(0, 100, lambda name: name == "default.b").events] == [3, 6, 9]


def test_a_dropped_table_stays_in_the_ring_and_is_told_as_lost_elsewhere(
    world: Published, opened: list[AllChanges]
) -> None:
    hot = ring(world, opened, 100)
    a, b = one(world, "a"), one(world, "b")
    a.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    hot.catch_up()
    b.commit(put=[{"k": 1, "v": 1}])
    hot.catch_up()
    a.commit(put=[{"k": 1, "v": 2}])
    hot.catch_up()
    drop(world, a)
    assert [event.lsn for event in hot.page(0, 10).events] == [1, 2, 3, 4]
    cold = ring(world, opened, 100)
    with pytest.raises(NotRetained) as lost:
        cold.page(0, 10)
    assert lost.value.facts["earliest"] == 3
    assert cold.page(2, 10).next_lsn == 3
    with pytest.raises(NotRetained) as lost:
        cold.page(3, 10)
    assert lost.value.facts["earliest"] == 5
    b.commit(put=[{"k": 1, "v": 2}])
    assert [event.lsn for event in cold.page(4, 10).events] == [5]


def test_a_table_that_is_created_again_is_another_one(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 100)
    first = one(world, "a")
    first.commit(put=[{"k": 1, "v": 1}])
    assert every.page(0, 10).next_lsn == 1
    drop(world, first)
    one(world, "a").commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    assert told(every.page(1, 10).events) == [(2, "default.a", "insert"), (3, "default.a", "insert")]


def test_a_waiting_reader_is_woken_by_a_commit(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 100)
    sales = one(world, "sales")
    assert not every.wait(0, 0.05)
    threading.Timer(0.1, lambda: sales.commit(put=[{"k": 1, "v": 1}])).start()
    assert every.wait(0, 30)
    assert every.page(0, 10).next_lsn == 1


def test_readers_wait_on_an_event_loop_without_threads(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 100)
    sales = one(world, "sales")

    async def many() -> list[bool]:
        before = set(threading.enumerate())
        waiting = [asyncio.create_task(every.wait_async(0, 30)) for _ in range(200)]
        assert not await every.wait_async(0, 0.05)
        assert not set(threading.enumerate()) - before
        await asyncio.to_thread(sales.commit, put=[{"k": 1, "v": 1}])
        return await asyncio.gather(*waiting)

    assert asyncio.run(many()) == [True] * 200


def test_while_no_log_moves_the_catalog_is_asked_for_nothing(
    world: Published, opened: list[AllChanges], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = ring(world, opened, 100)
    sales = one(world, "sales")
    every.catch_up()
    catalog = world.tables._warehouse.catalog
    read, asked = catalog.journal, list[int]()
    monkeypatch.setattr(all_changes, "TABLES_SECONDS", 3600.0)
    with every._tables.turn:
        monkeypatch.setattr(catalog, "last_position", None)
        monkeypatch.setattr(catalog, "journal", lambda after, most: (asked.append(after), read(after, most))[1])
        for _ in range(10):
            every._take_in()
        assert asked == []
        sales.commit(put=[{"k": 1, "v": 1}])
        every._take_in()
        assert every.stats().current_lsn == 1


def test_who_waits_is_woken_by_what_came_before_an_error(
    world: Published, opened: list[AllChanges], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = ring(world, opened, 100)
    sales = one(world, "sales")
    catalog = world.tables._warehouse.catalog
    read = catalog.journal

    def journal(after: int, max_rows: int) -> list[JournalEntry]:
        if after > 0:
            raise OSError(5, "Input/output error")
        return read(after, max_rows)

    async def wait() -> bool:
        waiting = asyncio.create_task(every.wait_async(0, 60))
        await asyncio.sleep(0.05)
        sales.commit(put=[{"k": 1, "v": 1}])
        monkeypatch.setattr(catalog, "journal", journal)
        with pytest.raises(OSError, match="Input"):
            every.catch_up()
        return await asyncio.wait_for(waiting, 10)

    # So long as this is held, the thread that follows wakes nobody.
    with every._tables.turn:
        assert asyncio.run(wait())


def test_closing_ends_those_who_wait_on_an_event_loop(world: Published, opened: list[AllChanges]) -> None:
    every = ring(world, opened, 100)

    async def waits() -> bool:
        waiting = asyncio.create_task(every.wait_async(0, 600))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(every.close)
        return await waiting

    began = time.monotonic()
    assert asyncio.run(waits()) is False
    assert time.monotonic() - began < 300


def test_several_consumers_read_the_same_ring(world: Published) -> None:
    sales = one(world, "sales")
    sales.commit(put=[{"k": 1, "v": 1}])
    every = world.tables.all_changes()
    assert every is world.tables.all_changes()
    cached = {"revenue by region": 42}
    position = every.page(0, 10).next_lsn
    sales.commit(put=[{"k": 1, "v": 2}])
    page = every.page(position, 10)
    for event in page.events:
        if event.collection == "default.sales":
            cached.clear()
    assert cached == {}
    assert told(every.page(position, 10).events) == told(page.events)
    assert every.stats().buffered_events == 1


def data_files(table: PublishedTable) -> list[Path]:
    return [each for each in Path(table.storage.path).rglob("*.parquet") if "_delta_log" not in each.parts]


def test_a_commit_with_damaged_files_is_lost_and_the_others_are_not(world: Published, opened: list[AllChanges]) -> None:
    every, a, b = ring(world, opened, 100), one(world, "a"), one(world, "b")
    with every._tables.turn:
        a.commit(put=[{"k": 1, "v": 1}])
        for file in data_files(a):
            file.write_bytes(file.read_bytes()[:20])
        be_earlier(a)
        b.commit(put=[{"k": 1, "v": 1}])
    with pytest.raises(NotRetained) as lost:
        every.page(0, 10)
    assert lost.value.facts["earliest_lsn"] == 2
    assert told(every.page(1, 10).events) == [(2, "default.b", "insert")]


def test_a_commit_that_contradicts_its_record_is_lost_and_the_others_are_not(
    world: Published, opened: list[AllChanges]
) -> None:
    a, b = one(world, "a"), one(world, "b")
    a.commit(put=[{"k": 1, "v": 1}])
    entry = Path(a.storage.path) / "_delta_log" / f"{1:020d}.json"
    entry.write_text(entry.read_text().replace('\\"lsn_count\\":1', '\\"lsn_count\\":2'))
    be_earlier(a)
    b.commit(put=[{"k": 1, "v": 1}])
    every = ring(world, opened, 100)
    with pytest.raises(NotRetained) as lost:
        every.page(0, 10)
    assert told(every.page(lost.value.facts["earliest_lsn"] - 1, 10).events) == [(3, "default.b", "insert")]


def test_what_cannot_be_read_now_is_said_and_read_later(world: Published, opened: list[AllChanges]) -> None:
    every, a, b = ring(world, opened, 100), one(world, "a"), one(world, "b")
    with every._tables.turn:
        a.commit(put=[{"k": 1, "v": 1}])
        whole = {file: file.read_bytes() for file in data_files(a)}
        for file in whole:
            file.unlink()
            file.symlink_to(file)
        be_earlier(a)
        b.commit(put=[{"k": 1, "v": 1}])
        every.catch_up()
    with pytest.raises(StorageUnreachable, match=r"default\.a"):
        every.page(0, 10)
    assert told(every.page(1, 10).events) == [(2, "default.b", "insert")]
    for file, content in whole.items():
        file.unlink()
        file.write_bytes(content)
    assert told(every.page(0, 10).events) == [(1, "default.a", "insert"), (2, "default.b", "insert")]


def test_a_log_that_cannot_be_read_does_not_keep_the_others_waiting(world: Published, opened: list[AllChanges]) -> None:
    a, b = one(world, "a"), one(world, "b")
    a.commit(put=[{"k": 1, "v": 1}])
    log = Path(a.storage.path) / "_delta_log"
    shutil.move(log, log.with_name("away"))
    log.symlink_to(log)
    every = ring(world, opened, 100)
    b.commit(put=[{"k": 1, "v": 1}])
    assert told(every.page(0, 10).events) == [(1, "default.b", "insert")]
    log.unlink()
    shutil.move(log.with_name("away"), log)
    assert [each[1] for each in _until_two(every)] == ["default.b", "default.a"]


def _until_two(every: AllChanges) -> list[Told]:
    until = time.monotonic() + 60
    while len(found := told(every.page(0, 10).events)) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    return found


def test_the_old_name_still_works(world: Published, opened: list[AllChanges]) -> None:
    every, a = ring(world, opened, 100), one(world, "a")
    a.commit(put=[{"k": 1, "v": 1}])
    with pytest.warns(DeprecationWarning, match="catch_up"):
        every.look()
    assert every.stats().current_lsn > 0
