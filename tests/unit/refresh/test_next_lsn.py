"""Positions of a changelog whose newest record was cleaned away: they go on, and a reader hears of the rebuild."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.catalog.model import JournalEntry
from penstock.refresh.stages.next_lsn import next_lsn, was_filled
from penstock.testing.changelog_oracle import assert_changelog
from penstock.testing.published import EPOCH, Published, PublishedTable


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


def rested(world: Published) -> PublishedTable:
    """A table whose three commits have left the log, while properties were set on it."""
    table = world.keyed("t", {"k": "long"}, key=("k",))
    for key in (1, 2, 3):
        table.commit(put=[{"k": key}])
    for days in (1, 2, 3):
        table.storage.set_configuration({"delta.logRetentionDuration": f"interval {days} days"})
    table.storage.pin().handle.create_checkpoint()
    for entry in sorted((Path(table.storage.path) / "_delta_log").glob("*.json"))[:-2]:
        entry.unlink()
    return table


def test_the_next_commit_goes_on_after_what_the_catalog_knows(world: Published) -> None:
    table, warehouse = rested(world), world.tables._warehouse
    pin, (meta,) = table.storage.pin(), warehouse.catalog.get_all()
    assert pin.record is None
    assert was_filled(pin, replace(meta, is_populated=False))
    assert next_lsn(pin, replace(meta, last_lsn=3), warehouse.catalog, EPOCH) == 4


def test_what_a_reader_or_the_journal_has_seen_is_not_given_out_again(world: Published) -> None:
    table, catalog = rested(world), world.tables._warehouse.catalog
    pin, (meta,) = table.storage.pin(), catalog.get_all()
    meta = replace(meta, last_lsn=3)
    catalog.append_journal([JournalEntry(0, 2, meta.table_id, "default.t", 4, 4)])
    assert next_lsn(pin, meta, catalog, EPOCH) == 6
    assert next_lsn(pin, replace(meta, last_lsn=7), catalog, EPOCH) == 8


def test_a_rebuilt_catalog_that_does_not_know_leaps_ahead(world: Published) -> None:
    table, catalog = rested(world), world.tables._warehouse.catalog
    pin, (meta,) = table.storage.pin(), catalog.get_all()
    now = datetime(2026, 5, 1, tzinfo=UTC)
    first = next_lsn(pin, meta, catalog, now)
    assert first > 10**12
    assert next_lsn(pin, meta, catalog, now + timedelta(seconds=1)) > first


def test_a_table_that_was_never_filled_begins_at_one(world: Published) -> None:
    table, catalog = world.keyed("t", {"k": "long"}, key=("k",)), world.tables._warehouse.catalog
    (meta,) = catalog.get_all()
    meta = replace(meta, is_populated=False)
    pin = table.storage.pin()
    assert not was_filled(pin, meta)
    assert next_lsn(pin, meta, catalog, EPOCH) == 1


def test_a_durable_reader_hears_of_the_rebuild(world: Published) -> None:
    table = rested(world)
    record = table.commit(put=[{"k": 1}, {"k": 9}], anew=True)
    assert (record.first_lsn, record.lsn_count, record.replaces) == (4, 1, True)
    changelog = world.tables.changelog("t")
    assert_changelog(changelog, changelog.newest())
    reader = world.tables.subscribe("t", lsn=3)
    changes = reader.next_commit(5)
    assert changes is not None
    assert changes.refreshed is not None
    assert changes.refreshed.column("k").to_pylist() == [1, 9]
