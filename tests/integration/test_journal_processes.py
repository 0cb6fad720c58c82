"""Several processes journal and read the same commits at the same time, over each kind of catalog."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from collections import Counter
from pathlib import Path

import pytest

from penstock.catalog.open_catalog import open_catalog
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.run.workspace import Logs
from penstock.subscribe.journal import catch_up
from penstock.testing.published import Published
from postgres import Postgres

pytestmark = pytest.mark.process

READER = """
import sys
from penstock.catalog.open_catalog import open_catalog
from penstock.engine.run.workspace import Logs
from penstock.subscribe.all_changes import AllChanges

with open_catalog(sys.argv[1]) as catalog:
    every = AllChanges(catalog, Logs(), int(sys.argv[2]))
    cursor = 0
    while cursor < int(sys.argv[3]):
        every.wait(cursor, 60)
        page = every.page(cursor, 7)
        for event in page.events:
            print(event.lsn, event.collection, event.operation, event.entity_id)
        cursor = page.next_lsn
    every.close()
"""
COMMITS, ROWS = 12, 5


@pytest.mark.parametrize("ring", [(100, 0), (3, 100)])
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_every_process_reads_the_same_events_at_the_same_positions(
    tmp_path: Path, kind: str, ring: tuple[int, int], request: pytest.FixtureRequest
) -> None:
    with Published.open(tmp_path / "warehouse") as world:
        place = str(tmp_path / "catalog.sqlite")
        if kind == "postgres":
            server: Postgres = request.getfixturevalue("postgres")
            place = server.url(f"journal_{uuid.uuid4().hex}")
        tables = [world.keyed(name, {"k": "long", "v": "long"}, ("k",)) for name in ("a", "b")]
        with open_catalog(place) as catalog:
            for meta in world.tables._warehouse.catalog.get_all():
                catalog.insert(meta, [], now=catalog.now())
            total = len(tables) * COMMITS * ROWS
            readers = [
                subprocess.Popen(
                    [sys.executable, "-c", READER, place, str(size), str(total)], stdout=subprocess.PIPE, text=True
                )
                for size in ring
            ]
            for value in range(COMMITS):
                for table in tables:
                    table.commit(put=[{"k": key, "v": value} for key in range(ROWS)])
            told = [reader.communicate(timeout=120)[0].splitlines() for reader in readers]
            assert [reader.returncode for reader in readers] == [0, 0]
            assert catalog.last_position() == total
    assert told[0] == told[1]
    assert [int(line.split()[0]) for line in told[0]] == list(range(1, total + 1))
    assert Counter(line.split()[1] for line in told[0]) == {"default.a": COMMITS * ROWS, "default.b": COMMITS * ROWS}


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_proposals_at_the_same_time_give_no_event_two_places(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "catalog.sqlite")
    if kind == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        place = server.url(f"journal_{uuid.uuid4().hex}")
    with Published.open(tmp_path / "warehouse") as world, open_catalog(place) as catalog:
        table = world.keyed("a", {"k": "long", "v": "long"}, ("k",))
        for value in range(10):
            table.commit(put=[{"k": key, "v": value} for key in range(3)])
        gate = threading.Barrier(6)

        def propose() -> None:
            changelog = Changelog(table.name, Logs().at(table.storage.path))
            gate.wait()
            catch_up(catalog, {table.storage.table_id: changelog})

        threads = [threading.Thread(target=propose) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        entries = catalog.journal(0, 100)
        assert [(each.position, each.events, each.version) for each in entries] == [
            (1 + 3 * at, 3, 1 + at) for at in range(10)
        ]
        assert catalog.last_position() == 30
