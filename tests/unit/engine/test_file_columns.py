"""What is kept of files and changes: the most recently used, within limits of size and of time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from test_delta_log import PROTOCOL, add, metadata, write

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.interval import classify
from penstock.engine.read.driver_read import changed_rows
from penstock.engine.read.file_columns import IDLE, FileColumns
from penstock.testing.clock import FakeStopwatch


def rows(number: int) -> pa.Table:
    return pa.table({"n": pa.array(range(number), pa.int64())})


def asked(held: FileColumns, key: str, number: int) -> bool:
    """Ask for rows under a key; True if they had to be read."""
    read: list[int] = []

    def reading() -> pa.Table:
        read.append(number)
        return rows(number)

    held.changes(key, reading)
    return bool(read)


def test_changes_of_a_table_that_was_created_again_are_read_again(tmp_path: Path) -> None:
    root, held = tmp_path / "orders", FileColumns()
    for name, number in (("first", 1), ("restored", 2)):
        shutil.rmtree(root, ignore_errors=True)
        write(root, 0, PROTOCOL, metadata())
        file = root / f"{name}.parquet"
        pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), file)
        write(root, 1, add(file.name, file.stat().st_size, stats=json.dumps({"numRecords": 1})))
        change = classify(DeltaLog(str(root)), 0, 1)
        found = changed_rows(held, change, change.end.schema.fields)
        assert found is not None
        assert found.column("id").to_pylist() == [number]


def test_what_was_used_longest_ago_goes_when_there_is_too_much() -> None:
    held = FileColumns(limit=8 * 250, stopwatch=FakeStopwatch())
    assert asked(held, "a", 100)
    assert asked(held, "b", 100)
    assert not asked(held, "a", 100)
    assert asked(held, "c", 100)
    assert not asked(held, "a", 100)
    assert asked(held, "b", 100)


def test_what_nobody_asked_for_in_a_while_goes_with_the_next_that_comes() -> None:
    stopwatch = FakeStopwatch()
    held = FileColumns(stopwatch=stopwatch)
    assert asked(held, "old", 100)
    assert asked(held, "used", 100)
    stopwatch.seconds = IDLE / 2
    assert not asked(held, "used", 100)
    stopwatch.seconds = IDLE + 1
    assert asked(held, "new", 100)
    assert not asked(held, "used", 100)
    assert asked(held, "old", 100)
