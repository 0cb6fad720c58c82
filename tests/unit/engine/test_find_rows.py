"""Rows are found where they lie, whatever their keys, and hidden ones are not."""

from __future__ import annotations

import json
import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from penstock.engine.delta.allow_list import Protocol
from penstock.engine.delta.deletion_vector import write_vectors
from penstock.engine.delta.log_entry import DataFile, Metadata
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.write.find_rows import find_rows

SCHEMA = StructType([StructField("k", LongType()), StructField("s", StringType()), StructField("d", DoubleType())])
ARROW = pa.schema([("k", pa.int64()), ("s", pa.string()), ("d", pa.float64())])


def a_row(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.choice([None, 1, 2, 3]),
        "s": chance.choice([None, "", "a"]),
        "d": chance.choice([None, float("nan"), 0.0, -0.0, 1.5]),
    }


def alike(value: Any) -> Any:
    """Equal where a merge holds values equal: NULLs are one, NaNs are one, zeros are one."""
    if not isinstance(value, float):
        return value
    return "NaN" if value != value else struct.pack(">d", value + 0.0)


def a_table(root: Path, chance: random.Random) -> tuple[Snapshot, list[list[tuple[int, dict[str, Any]]]]]:
    """Three files, two of them under vectors, with their live rows and the places of these."""
    files, live = [], []
    for number in range(3):
        rows = [a_row(chance) for _ in range(40)]
        pq.write_table(pa.Table.from_pylist(rows, ARROW), root / f"{number}.parquet")
        hidden = sorted(chance.sample(range(40), 12)) if number else []
        vector = write_vectors(str(root), [np.array(hidden, np.int64)])[0] if hidden else None
        stats = json.dumps({"numRecords": 40, "minValues": {}, "maxValues": {}, "nullCount": {}})
        name = f"{number}.parquet"
        files.append(DataFile(str(root / name), 1000, {}, stats, vector, name))
        live.append([(place, row) for place, row in enumerate(rows) if place not in hidden])
    metadata = Metadata("id", SCHEMA.json(), (), {})
    protocol = Protocol(3, 7, frozenset({"deletionVectors"}))
    return Snapshot(str(root), 1, metadata, protocol, {file.key: file for file in files}, {}, None), live


def test_random_keys_are_found_as_a_loop_finds_them(tmp_path: Path) -> None:
    for seed in range(12):
        chance = random.Random(seed)
        root = tmp_path / str(seed)
        root.mkdir()
        snapshot, live = a_table(root, chance)
        for key in (("k",), ("s", "k"), ("k", "s", "d"), ("d",)):
            distinct = {tuple(alike(row[name]) for name in key): row for row in (a_row(chance) for _ in range(4))}
            wanted = pa.Table.from_pylist(list(distinct.values()), ARROW)
            found = find_rows(FileColumns(), snapshot, wanted, key)
            assert found is not None
            expected = [
                (number, place, list(distinct).index(identity))
                for number, rows in enumerate(live)
                for place, row in rows
                if (identity := tuple(alike(row[name]) for name in key)) in distinct
            ]
            numbers = {file.name: number for number, file in enumerate(snapshot.files)}
            places = [(numbers[file.name], int(place)) for file, held in found.files for place in held]
            assert [(*at, match) for at, match in zip(places, found.matches.tolist(), strict=True)] == expected, (
                f"seed {seed}, key {key}, wanted {wanted.to_pylist()}"
            )
            rows = [{name: alike(value) for name, value in row.items()} for row in found.rows.to_pylist()]
            there = [{name: alike(v) for name, v in dict(live[n])[place].items()} for n, place, _ in expected]
            assert rows == there
            assert found.bytes == 1000 * len({number for number, *_ in expected})


def test_what_is_for_others(tmp_path: Path) -> None:
    snapshot, _ = a_table(tmp_path, random.Random(1))
    wanted = pa.Table.from_pylist([a_row(random.Random(2))], ARROW)
    assert find_rows(FileColumns(), snapshot, wanted, ()) is None
    unknown = [replace(file, stats_json=None, deletion_vector=None) for file in snapshot.files]
    uncounted = replace(snapshot, live={file.key: file for file in unknown})
    assert find_rows(FileColumns(), uncounted, wanted, ("k",)) is None, "all rows of a file might be gone"
    for path in tmp_path.glob("*.bin"):
        path.unlink()
    assert find_rows(FileColumns(), snapshot, wanted, ("k",)) is None
