"""The changelog of hand-made commits: dense positions, before and after images, and what is no longer kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.engine.delta.storage_schema import arrow_schema
from penstock.engine.write.apply import Change
from penstock.engine.write.commit import commit
from penstock.errors import NotReached, NotRetained
from penstock.subscribe.start import Start, locate
from penstock.testing.changelog_oracle import assert_changelog
from penstock.testing.published import EPOCH, Published, PublishedTable

STRUCT = {"type": "struct", "fields": [{"name": "x", "type": "double", "nullable": True, "metadata": {}}]}
SALES = {"region": "string", "total": "long"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


def test_a_keyed_table_tells_updates_with_both_images(world: Published) -> None:
    sales = world.keyed("sales", SALES, ("region",))
    sales.commit(put=[{"region": "east", "total": 1}, {"region": "west", "total": 2}], anew=True)
    sales.commit(put=[{"region": "east", "total": 5}, {"region": None, "total": 7}], drop=[{"region": "west"}])
    changelog = world.tables.changelog("sales")
    first, second = changelog.after_lsn(0)
    assert_changelog(changelog, first)
    changes = assert_changelog(changelog, second)
    assert (changes.first_lsn, changes.last_lsn, changes.key) == (3, 5, ("region",))
    assert changes.arrow().to_pylist() == [
        {"_lsn": 3, "_op": "-D", "_weight": -1, "region": "west", "total": 2},
        {"_lsn": 4, "_op": "-U", "_weight": -1, "region": "east", "total": 1},
        {"_lsn": 4, "_op": "+U", "_weight": 1, "region": "east", "total": 5},
        {"_lsn": 5, "_op": "+I", "_weight": 1, "region": None, "total": 7},
    ]


def test_copies_of_a_row_are_events_of_their_own(world: Published) -> None:
    bag = world.bag("bag", {"v": "double"})
    one, zero = {"v": 1.5}, {"v": -0.0}
    bag.commit(put=[one, one, zero])
    bag.commit(put=[{"v": 0.0}, {"v": float("nan")}], drop=[one])
    changelog = world.tables.changelog("bag")
    told = [assert_changelog(changelog, entry) for entry in changelog.after_lsn(0)]
    assert [(changes.first_lsn, changes.last_lsn) for changes in told] == [(1, 3), (4, 6)]
    assert told[0].inserts.num_rows == 3
    assert [repr(row["v"]) for row in told[1].inserts.to_pylist()] == ["0.0", "nan"]


@pytest.mark.parametrize(
    ("kind", "minus", "plus"),
    [
        ("double", -0.0, 0.0),
        ("float", -0.0, 0.0),
        (STRUCT, {"x": -0.0}, {"x": 0.0}),
        ({"type": "array", "elementType": "double", "containsNull": True}, [1.5, -0.0], [1.5, 0.0]),
    ],
)
def test_a_key_whose_zero_changed_its_sign_is_the_same_key(world: Published, kind: Any, minus: Any, plus: Any) -> None:
    table = world.keyed("t", {"k": kind, "v": "long"}, ("k",))
    table.commit(put=[{"k": minus, "v": 1}, {"k": None, "v": 1}], anew=True)
    # As Spark counts it: one key, and so one event.
    pin = table.storage.pin()
    assert pin.record is not None
    record = replace(pin.record, refresh_id="again", action="INCREMENTAL", first_lsn=3, lsn_count=1)
    rows = [{"k": plus, "v": 2}, {"k": None, "v": 1}]
    commit(
        table.storage,
        pin,
        Change("overwrite", pa.Table.from_pylist(rows, schema=arrow_schema(table.schema_json))),
        record,
        applier="delta-rs",
        transaction_number=pin.next_transaction,
    )
    changelog = world.tables.changelog("t")
    changes = assert_changelog(changelog, changelog.newest())
    assert (changes.deletes.num_rows, changes.inserts.num_rows) == (0, 0)
    assert repr(changes.was.to_pylist()) == repr([{"k": minus, "v": 1}])
    assert repr(changes.now.to_pylist()) == repr([{"k": plus, "v": 2}])


def test_all_rows_anew_are_one_event(world: Published) -> None:
    sales = world.keyed("sales", SALES, ("region",))
    sales.commit(put=[{"region": "east", "total": 1}], anew=True)
    sales.commit(put=[{"region": "b", "total": 1}, {"region": "a", "total": 1}], anew=True)
    changelog = world.tables.changelog("sales")
    changes = assert_changelog(changelog, changelog.newest())
    assert (changes.events, changes.first_lsn, changes.last_lsn) == (1, 2, 2)
    assert changes.refreshed is not None
    assert changes.refreshed.column("region").to_pylist() == ["a", "b"]


def test_what_touches_hidden_columns_only_is_not_seen(world: Published) -> None:
    sales = world.keyed("sales", SALES, ("region",))
    sales.commit(put=[{"region": "east", "total": 1}], anew=True)
    record = sales.commit(put=[{"region": "east", "total": 1}])
    assert record.lsn_count == 0
    changelog = world.tables.changelog("sales")
    assert assert_changelog(changelog, changelog.newest()).events == 0
    assert len(changelog.after_lsn(0)) == 1


def test_the_single_row_of_a_total_is_updated(world: Published) -> None:
    total = world.keyed("total", {"n": "long"}, ())
    total.commit(put=[{"n": 0}], anew=True)
    total.commit(put=[{"n": 3}])
    changelog = world.tables.changelog("total")
    changes = assert_changelog(changelog, changelog.newest())
    assert (changes.was.to_pylist(), changes.now.to_pylist()) == ([{"n": 0}], [{"n": 3}])


def test_a_total_that_is_what_it_was_has_no_events(world: Published) -> None:
    total = world.keyed("total", {"n": "long"}, ())
    total.commit(put=[{"n": 0}], anew=True)
    start = world.tables.changelog("total").newest().version
    for n in (3, 0, 0):
        total.commit(put=[{"n": n}])
    changelog = world.tables.changelog("total")
    assert assert_changelog(changelog, changelog.newest()).events == 0, "hidden columns only"
    assert changelog.net(start, changelog.after_version(start)).events == 0, "there and back"


def test_several_commits_as_one_net_change(world: Published) -> None:
    sales = world.keyed("sales", SALES, ("region",))
    sales.commit(put=[{"region": "east", "total": 1}], anew=True)
    start = world.tables.changelog("sales").newest().version
    for total in (2, 3, 4):
        sales.commit(put=[{"region": "east", "total": total}, {"region": f"r{total}", "total": 0}])
    sales.commit(drop=[{"region": "r2"}])
    changelog = world.tables.changelog("sales")
    net = changelog.net(start, changelog.after_version(start))
    assert (net.deletes.num_rows, net.was.to_pylist()[0]["total"], net.now.to_pylist()[0]["total"]) == (0, 1, 4)
    assert net.inserts.column("region").to_pylist() == ["r3", "r4"]
    assert net.last_lsn == changelog.newest().last_lsn


@pytest.mark.parametrize(
    ("start", "version", "lsn"),
    [
        (Start(), 4, 6),
        (Start("snapshot"), 4, 6),
        (Start("version", 2), 2, 4),
        (Start("version", 3), 3, 4),
        (Start("lsn", 0), 0, 0),
        (Start("lsn", 3), 1, 3),
        (Start("timestamp", EPOCH + timedelta(seconds=1.5)), 2, 4),
    ],
)
def test_every_point_to_begin_at(world: Published, start: Start, version: int, lsn: int) -> None:
    bag = world.bag("bag", {"v": "long"})
    for first in (0, 2, 4):
        bag.commit(put=[{"v": first}, {"v": first + 1}])
        if first == 2:
            bag.storage.set_configuration({"delta.checkpointInterval": "50"})
    found = locate(world.tables.changelog("bag"), start)
    assert (found.version, found.lsn) == (version, lsn)


def test_points_that_lie_ahead_or_are_gone_are_refused(world: Published) -> None:
    bag = world.bag("bag", {"v": "long"})
    for first in range(4):
        bag.commit(put=[{"v": first}])
    changelog = world.tables.changelog("bag")
    with pytest.raises(NotReached, match=r"LSN 9 of default\.bag does not exist yet"):
        locate(changelog, Start("lsn", 9))
    with pytest.raises(NotReached, match="version 99"):
        locate(changelog, Start("version", 99))
    with pytest.raises(NotRetained, match="earliest"):
        locate(changelog, Start("timestamp", EPOCH - timedelta(days=1)))
    second = changelog.after_lsn(1)[0]
    made = changelog._log.commit(second.version)
    for file in [*made.cdc, *(added.file for added in made.adds)]:
        Path(file.path).unlink()
    with pytest.raises(NotRetained, match=rf"earliest retained is {second.version + 1}"):
        changelog.changes(second)


def test_rows_that_were_only_laid_out_anew_are_read_where_they_lie_now(world: Published) -> None:
    sales = world.keyed("sales", SALES, ("region",))
    for total in range(4):
        sales.commit(put=[{"region": f"r{total}", "total": total}])
    assert sales.storage.pin().handle.optimize.compact()["numFilesRemoved"] > 1
    sales.storage.set_configuration({"delta.checkpointInterval": "50"})
    assert vacuum(sales)
    changelog = world.tables.changelog("sales")
    newest = changelog.newest()
    assert changelog.snapshot(newest).column("total").to_pylist() == [0, 1, 2, 3]
    sales.commit(put=[{"region": "r0", "total": 9}])
    assert changelog.snapshot(newest).column("total").to_pylist() == [0, 1, 2, 3]
    assert changelog.snapshot(changelog.newest()).column("total").to_pylist() == [9, 1, 2, 3]


def vacuum(table: PublishedTable) -> list[str]:
    """What VACUUM takes away that keeps nothing: every file that is not in the newest version."""
    handle = table.storage.pin().handle
    return list(handle.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False))


def test_the_earliest_that_is_named_can_be_read(world: Published) -> None:
    sales = without_feed(world)
    east, west = {"region": "east", "total": 1}, {"region": "west", "total": 2}
    sales.commit(put=[east, west])
    sales.commit(drop=[east, west])
    sales.commit(put=[{"region": "north", "total": 3}])
    sales.commit(put=[{"region": "south", "total": 4}])
    changelog = world.tables.changelog("sales")
    (removing,) = [entry for entry in changelog.after_lsn(0) if entry.record.first_lsn == 3]
    assert not changelog._log.commit(removing.version).cdc
    assert dead(sales)
    assert not changelog.keeps(removing.version)
    for lost in (entry for entry in changelog.after_lsn(0) if entry.last_lsn <= 4):
        with pytest.raises(NotRetained) as refused:
            changelog.changes(lost)
        assert refused.value.facts["earliest_lsn"] == 5
    assert [changelog.changes(entry).events for entry in changelog.after_lsn(4)] == [1, 1]


def test_change_files_tell_a_commit_whose_data_files_are_gone(world: Published) -> None:
    sales = world.keyed("sales", SALES, ("region",))
    for total in range(4):
        sales.commit(put=[{"region": "east", "total": total}, {"region": "west", "total": -total}])
    changelog = world.tables.changelog("sales")
    entries = changelog.after_lsn(2)
    told = [changelog.changes(entry).arrow() for entry in entries]
    net = changelog.net(entries[0].version - 1, entries[:2]).arrow()
    assert all(changelog._log.commit(entry.version).cdc for entry in entries)
    assert dead(sales)
    assert [changelog.keeps(entry.version) for entry in entries] == [True, True, True]
    assert [changelog.changes(entry).arrow() for entry in entries] == told
    assert changelog.net(entries[0].version - 1, entries[:2]).arrow() == net


def test_data_files_tell_a_commit_whose_change_files_are_gone(world: Published) -> None:
    sales = world.keyed("sales", SALES, ("region",))
    for total in range(3):
        sales.commit(put=[{"region": "east", "total": total}, {"region": "west", "total": -total}])
    changelog = world.tables.changelog("sales")
    entries = changelog.after_lsn(2)
    told = [changelog.changes(entry).arrow() for entry in entries]
    for file in (Path(sales.storage.path) / "_change_data").rglob("*.parquet"):
        file.unlink()
    assert [changelog.keeps(entry.version) for entry in entries] == [True, True]
    assert [changelog.changes(entry).arrow() for entry in entries] == told


def test_where_nothing_is_kept_the_next_position_is_named(world: Published) -> None:
    sales = without_feed(world)
    sales.commit(put=[{"region": "east", "total": 1}])
    sales.commit(drop=[{"region": "east", "total": 1}])
    assert dead(sales)
    changelog = world.tables.changelog("sales")
    with pytest.raises(NotRetained) as refused:
        changelog.changes(changelog.newest())
    assert refused.value.facts["earliest_lsn"] == 3
    assert changelog.after_lsn(2) == []


def without_feed(world: Published) -> PublishedTable:
    sales = world.keyed("sales", SALES, ("region",))
    sales.storage.set_configuration({"delta.enableChangeDataFeed": "false"})
    return sales


def dead(table: PublishedTable) -> list[Path]:
    """Take away the data files that are not in the newest version, and leave the change files."""
    root, live = Path(table.storage.path), set(table.storage.pin().handle.file_uris())
    gone = [
        file
        for file in root.rglob("*.parquet")
        if not {"_delta_log", "_change_data"} & set(file.parts) and file.name not in {Path(uri).name for uri in live}
    ]
    for file in gone:
        file.unlink()
    return gone
