"""Whether a table is laid out well is told from its log alone."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from penstock.engine.delta.allow_list import Protocol
from penstock.engine.delta.deletion_vector import DeletionVector
from penstock.engine.delta.log_entry import DataFile, Metadata
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.pruning import prunes_well, share_touched
from penstock.engine.write import layout
from penstock.engine.write.layout import clusterable, expected_share, file_layout, files_wanted, needs_optimizing

SCHEMA = StructType([StructField("k", LongType()), StructField("s", StringType()), StructField("d", DoubleType())])
MIB = 1024 * 1024


def snapshot(
    files: list[tuple[dict[str, Any], dict[str, Any]]],
    size: int = 8 * MIB,
    rows: int = 100_000,
    hidden: int = 0,
    **properties: str,
) -> Snapshot:
    held = [
        DataFile(
            f"/t/{n}",
            size,
            {},
            json.dumps({"numRecords": rows, "minValues": low, "maxValues": high, "nullCount": {}}),
            deletion_vector=DeletionVector("u", f"v{n}", 1, 1, hidden) if hidden else None,
            name=str(n),
        )
        for n, (low, high) in enumerate(files)
    ]
    metadata = Metadata("id", SCHEMA.json(), (), properties)
    protocol = Protocol(3, 7, frozenset({"deletionVectors"}))
    return Snapshot("/t", 1, metadata, protocol, {file.key: file for file in held}, {}, None)


def ranges(*spans: tuple[int, int]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [({"k": low, "s": f"{low:09}"}, {"k": high, "s": f"{high:09}"}) for low, high in spans]


SORTED = ranges(*((n * 100, n * 100 + 99) for n in range(16)))
_random = random.Random(1)
SCATTERED = ranges(*((_random.randrange(50), 1600 - _random.randrange(50)) for _ in range(16)))


def test_sorted_files_are_touched_one_at_a_time_and_scattered_ones_nearly_all() -> None:
    for column in ("k", "s"):
        assert share_touched(snapshot(SORTED), [column]) == 1 / 16
        assert (share_touched(snapshot(SCATTERED), [column]) or 0) > 0.8
        assert prunes_well(snapshot(SORTED), column)
        assert not prunes_well(snapshot(SCATTERED), column)
    assert share_touched(snapshot(SORTED), ["d"]) is None
    assert share_touched(snapshot([({}, {})]), ["k"]) is None
    assert share_touched(snapshot([]), ["k"]) is None


def test_any_column_of_a_key_rules_a_file_out() -> None:
    low = [({"k": n % 4, "s": f"{n // 4}"}, {"k": n % 4, "s": f"{n // 4}"}) for n in range(16)]
    assert share_touched(snapshot(low), ["k"]) == 4 / 16
    assert share_touched(snapshot(low), ["k", "s"]) == 1 / 16


def test_scattered_files_need_optimizing_and_sorted_ones_do_not() -> None:
    assert needs_optimizing(snapshot(SORTED), ["k"]) == ""
    assert needs_optimizing(snapshot(SCATTERED), ["k"]) == "a key touches 84% of 16 files, sorted it would touch 1%"
    assert needs_optimizing(snapshot(SCATTERED), []) == ""
    # Few rows are read faster than they are sorted.
    assert needs_optimizing(snapshot(SCATTERED, rows=10), ["k"]) == ""


def test_one_large_file_needs_optimizing() -> None:
    assert "1 file" in needs_optimizing(snapshot(ranges((0, 99)), size=512 * MIB), ["k"])
    assert needs_optimizing(snapshot(ranges((0, 99)), size=2 * MIB), ["k"]) == ""


def test_many_small_files_need_optimizing_however_few_rows_they_hold() -> None:
    assert needs_optimizing(snapshot(SORTED, size=1000, rows=1), ["k"]) == "16 files where 1 would do"
    assert needs_optimizing(snapshot(SORTED[:7], size=1000, rows=1), ["k"]) == ""


def test_vectors_that_hide_many_rows_are_purged() -> None:
    assert needs_optimizing(snapshot(SORTED, hidden=50_000), ["k"]) == "deletion vectors hide 800,000 rows"
    assert needs_optimizing(snapshot(SORTED, hidden=10), ["k"]) == ""
    held = file_layout(snapshot(SORTED, hidden=10), ["k"])
    assert (held.deletion_vectors, held.hidden_rows) == (True, 160)
    assert not file_layout(snapshot(SORTED), ()).deletion_vectors
    assert file_layout(
        snapshot(SORTED, 8 * MIB, 100_000, 0, **{"delta.enableDeletionVectors": "true"}), ()
    ).deletion_vectors


def test_clusterable_columns_have_trusted_types_and_more_than_one_value() -> None:
    assert clusterable(snapshot(SORTED)) == ("k", "s")
    one = [({"k": 5, "s": "a"}, {"k": 5, "s": "b"})] * 3
    assert clusterable(snapshot(one)) == ("s",)


@pytest.mark.parametrize(("size", "files"), [(1, 1), (MIB, 1), (16 * MIB, 16), (512 * MIB, 128), (2**40, 2**15)])
def test_files_are_small_enough_to_be_told_apart_and_large_enough_to_be_read(size: int, files: int) -> None:
    assert files_wanted(size) == files
    assert expected_share(size, 0) is None
    assert expected_share(size, 1) == 1 / files
    assert layout.file_size(size) <= 32 * MIB
