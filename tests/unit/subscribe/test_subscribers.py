"""The list of durable subscriptions, and SUBSCRIBE as a statement: both without Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InvalidFilter, InvalidStatement, StreamTableNotFound
from penstock.testing.published import EPOCH, Published, PublishedTable

WAIT = 60.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def sales(world: Published) -> PublishedTable:
    made = world.keyed("sales", {"region": "string", "total": "long"}, key=("region",))
    made.commit(put=[row("north", 1), row("south", 2)], anew=True)
    made.commit(put=[row("north", 5)])
    return made


def row(region: str, total: int) -> dict[str, Any]:
    return {"region": region, "total": total}


def test_behind_counts_events_that_are_not_acknowledged(world: Published, sales: PublishedTable) -> None:
    with world.tables.subscribe("sales", lsn=0, durable="mailer") as changes:
        assert [(each.acknowledged, each.behind) for each in world.tables.subscriptions()] == [(0, 3)]
        assert changes.next_commit(timeout=WAIT) is not None
        changes.acknowledge()
        told = world.tables.subscriptions()[0]
        assert (told.name, told.stream_table, told.acknowledged, told.behind) == ("mailer", "default.sales", 2, 1)
        assert told.acknowledged_at is not None
    sales.commit(put=[row("west", 1), row("east", 1)])
    assert world.tables.subscriptions()[0].behind == 3


def test_one_that_begins_with_all_rows_has_acknowledged_nothing(world: Published, sales: PublishedTable) -> None:
    with world.tables.subscribe("sales", start="snapshot", durable="cache"):
        told = world.tables.subscriptions()[0]
        assert (told.acknowledged, told.behind, told.acknowledged_at) == (None, 3, None)


def test_a_stream_table_that_is_gone_leaves_the_list_readable(world: Published, sales: PublishedTable) -> None:
    world.tables.subscribe("sales", lsn=1, durable="orphan").cancel()
    shutil.rmtree(sales.storage.path)
    with Published.open(world.root) as again:
        told = again.tables.subscriptions()[0]
        assert (told.name, told.acknowledged, told.behind) == ("orphan", 1, None)


@pytest.mark.parametrize(
    ("clause", "first"),
    [
        ("", []),
        ("WITH SNAPSHOT", [("r", "north", 5), ("r", "south", 2)]),
        ("AFTER LSN 1", [("+I", "south", 2)]),
        ("AS OF VERSION 1", [("-U", "north", 1), ("+U", "north", 5)]),
        (f"AS OF TIMESTAMP '{EPOCH + timedelta(seconds=0.5)}'", [("-U", "north", 1), ("+U", "north", 5)]),
        ("AFTER LSN 0 WHERE region = 'south'", [("+I", "south", 2)]),
    ],
)
def test_the_statement_begins_where_it_says(
    world: Published, sales: PublishedTable, clause: str, first: list[tuple[str, str, int]]
) -> None:
    with world.tables.sql(f"SUBSCRIBE sales {clause}") as changes:
        found = changes.next_commit(timeout=WAIT if first else 0.1)
    told = [] if found is None else [(each["_op"], each["region"], each["total"]) for each in found.dicts()]
    assert told == first
    assert not world.tables._warehouse.has_started


def test_a_moment_without_an_offset_is_in_utc(world: Published, sales: PublishedTable) -> None:
    moment = f"{EPOCH + timedelta(seconds=0.5):%Y-%m-%d %H:%M:%S.%f}"
    with world.tables.sql(f"SUBSCRIBE sales AS OF TIMESTAMP '{moment}'") as changes:
        assert changes.version == 1


def test_what_cannot_be_followed_is_refused(world: Published, sales: PublishedTable) -> None:
    with pytest.raises(InvalidStatement, match="nothing can follow SUBSCRIBE"):
        world.tables.sql("SUBSCRIBE sales; SUBSCRIBE sales")
    with pytest.raises(InvalidFilter, match="nothing_like_it"):
        world.tables.sql("SUBSCRIBE sales WHERE nothing_like_it = 1")
    with pytest.raises(StreamTableNotFound):
        world.tables.sql("SUBSCRIBE sale")
