"""The journal over real commits, and over a catalog in each kind of database."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.catalog.model import JournalEntry
from penstock.engine.changelog.changelog import Changelog
from penstock.subscribe import journal
from penstock.subscribe.journal import catch_up, prune
from penstock.testing.published import Published, PublishedTable


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


def changelogs(world: Published, *tables: PublishedTable) -> dict[str, Changelog]:
    return {each.storage.table_id: world.tables.changelog(each.name) for each in tables}


def entries(world: Published, after: int = 0) -> list[JournalEntry]:
    return world.tables._warehouse.catalog.journal(after, 1000)


def caught_up(world: Published, *tables: PublishedTable) -> list[tuple[int, int, str, int]]:
    assert catch_up(world.tables._warehouse.catalog, changelogs(world, *tables)) == {}
    return places(world)


def places(world: Published) -> list[tuple[int, int, str, int]]:
    return [(each.position, each.events, each.stream_table, each.version) for each in entries(world)]


def committed_at(table: PublishedTable, version: int, seconds: int) -> None:
    """Let a commit have been made at a moment of 2026."""
    path = Path(table.storage.path) / "_delta_log" / f"{version:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "commitInfo" in line:
            line["commitInfo"]["timestamp"] = 1_767_225_600_000 + seconds * 1000
    path.write_text("\n".join(json.dumps(line) for line in lines))
    os.utime(path, (1_767_225_600 + seconds,) * 2)


def one(world: Published, name: str) -> PublishedTable:
    return world.keyed(name, {"k": "long", "v": "long"}, key=("k",))


def test_commits_of_all_tables_stand_in_the_order_of_their_times(world: Published) -> None:
    a, b = one(world, "a"), one(world, "b")
    a.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    b.commit(put=[{"k": 1, "v": 1}])
    a.commit(put=[{"k": 1, "v": 2}])
    for table, version, seconds in ((b, 1, 10), (a, 1, 20), (a, 2, 30)):
        committed_at(table, version, seconds)
    assert caught_up(world, a, b) == [(1, 1, "default.b", 1), (2, 2, "default.a", 1), (4, 1, "default.a", 2)]
    assert world.tables._warehouse.catalog.last_position() == 4


def test_a_clock_that_was_set_back_does_not_change_the_order_within_a_table(world: Published) -> None:
    a, b = one(world, "a"), one(world, "b")
    for value in range(3):
        a.commit(put=[{"k": 1, "v": value}])
    b.commit(put=[{"k": 1, "v": 1}])
    for table, version, seconds in ((a, 1, 100), (a, 2, 5), (a, 3, 50), (b, 1, 60)):
        committed_at(table, version, seconds)
    found = caught_up(world, a, b)
    assert [(name, version) for _, _, name, version in found] == [
        ("default.b", 1),
        ("default.a", 1),
        ("default.a", 2),
        ("default.a", 3),
    ]


def test_what_has_its_place_keeps_it(world: Published) -> None:
    a = one(world, "a")
    a.commit(put=[{"k": 1, "v": 1}])
    first = caught_up(world, a)
    assert caught_up(world, a) == first
    a.commit(put=[{"k": 1, "v": 2}])
    assert caught_up(world, a) == [*first, (2, 1, "default.a", 2)]


def test_a_commit_without_a_change_has_no_place(world: Published) -> None:
    a = one(world, "a")
    a.commit(put=[{"k": 1, "v": 1}])
    a.commit(put=[{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    a.commit(anew=True, put=[{"k": 1, "v": 1}])
    assert caught_up(world, a) == [(1, 1, "default.a", 1), (2, 1, "default.a", 2), (3, 1, "default.a", 3)]


def test_commits_that_were_cleaned_away_unseen_take_their_places(world: Published) -> None:
    a = one(world, "a")
    a.commit(put=[{"k": 1, "v": 1}])
    caught_up(world, a)
    a.commit(put=[{"k": 1, "v": 2}, {"k": 2, "v": 2}])
    a.commit(put=[{"k": 3, "v": 2}])
    a.commit(put=[{"k": 3, "v": 3}])
    a.storage.pin().handle.create_checkpoint()
    for version in range(4):
        (Path(a.storage.path) / "_delta_log" / f"{version:020d}.json").unlink()
    assert caught_up(world, a) == [(1, 1, "default.a", 1), (2, 3, "default.a", 3), (5, 1, "default.a", 4)]


def test_a_table_that_cannot_be_read_does_not_keep_others_waiting(world: Published) -> None:
    a, b = one(world, "a"), one(world, "b")
    b.commit(put=[{"k": 1, "v": 1}])
    logs = changelogs(world, a, b)
    shutil.rmtree(a.storage.path)
    unread = catch_up(world.tables._warehouse.catalog, logs)
    assert [(table_id, error.condition) for table_id, error in unread.items()] == [
        (a.storage.table_id, "SOURCE_MISSING")
    ]
    assert [each.stream_table for each in entries(world)] == ["default.b"]


def test_only_what_nobody_can_read_is_pruned(world: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "ENTRIES_AT_ONCE", 2)
    a, b = one(world, "a"), one(world, "b")
    for value in range(4):
        a.commit(put=[{"k": 1, "v": value}])
        b.commit(put=[{"k": 1, "v": value}])
        caught_up(world, a, b)
        if value == 1:
            a.storage.pin().handle.create_checkpoint()
    catalog, logs = world.tables._warehouse.catalog, changelogs(world, a, b)
    before = entries(world)
    assert prune(catalog, logs) == 0
    for version in range(3):
        (Path(a.storage.path) / "_delta_log" / f"{version:020d}.json").unlink()
    assert prune(catalog, logs) == 2
    assert entries(world) == [each for each in before if each.stream_table == "default.b" or each.version > 2]
    changelog = logs[a.storage.table_id]
    assert [changelog.changes(changelog.entry(version)).events for version in (3, 4)] == [1, 1]


@pytest.mark.parametrize("trouble", ["the folder is away", "the folder is empty", "a file does not answer"])
def test_what_may_come_back_is_not_pruned(world: Published, trouble: str) -> None:
    a = one(world, "a")
    for value in range(4):
        a.commit(put=[{"k": 1, "v": value}])
    before = caught_up(world, a)
    catalog, logs, root = world.tables._warehouse.catalog, changelogs(world, a), Path(a.storage.path)
    if trouble == "a file does not answer":
        for file in [each for each in root.rglob("*.parquet") if "_delta_log" not in each.parts]:
            file.unlink()
            file.symlink_to(file)
    else:
        shutil.move(root, root.with_name("away"))
        if trouble == "the folder is empty":
            root.mkdir()
    assert prune(catalog, logs) == 0
    assert places(world) == before


def test_of_a_dropped_table_one_entry_stays_to_say_what_had_its_place(world: Published) -> None:
    a, b = one(world, "a"), one(world, "b")
    for value in range(3):
        a.commit(put=[{"k": 1, "v": value}])
    logs = changelogs(world, a, b)
    caught_up(world, a, b)
    assert prune(world.tables._warehouse.catalog, {b.storage.table_id: logs[b.storage.table_id]}) == 2
    assert [each.version for each in entries(world)] == [3]
    catch_up(world.tables._warehouse.catalog, logs)
    assert [each.version for each in entries(world)] == [3]
