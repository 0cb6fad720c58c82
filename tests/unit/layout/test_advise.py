"""The advisor's choices, from plain facts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from penstock.engine.delta.allow_list import Protocol
from penstock.engine.delta.log_entry import DataFile, Metadata
from penstock.engine.delta.snapshot import Snapshot
from penstock.layout.advise import advise_source, advise_table, table_columns
from penstock.names import WEIGHT

SCHEMA = StructType(
    [
        StructField("d", DoubleType()),
        StructField("a", LongType()),
        StructField("b", StringType()),
        StructField("c", LongType()),
        StructField(WEIGHT, LongType()),
    ]
)


def snapshot(
    scattered: bool = False, features: frozenset[str] = frozenset(), partitions: tuple[str, ...] = ()
) -> Snapshot:
    files = []
    for n in range(16):
        low, high = (0, 1600) if scattered else (n * 100, n * 100 + 99)
        bounds: list[dict[str, Any]] = [{"a": v, "b": f"{v:05}", "c": v, WEIGHT: w} for v, w in ((low, 1), (high, 2))]
        stats = {"numRecords": 100_000, "minValues": bounds[0], "maxValues": bounds[1], "nullCount": {}}
        files.append(DataFile(f"/t/{n}", 8 << 20, {}, json.dumps(stats), name=str(n)))
    metadata = Metadata("id", SCHEMA.json(), partitions, {})
    held = {file.key: file for file in files}
    return Snapshot("/t", 1, metadata, Protocol(3, 7, features), held, {}, None)


def test_a_keyed_table_is_sorted_by_its_key_what_consumers_read_it_by_first() -> None:
    assert table_columns(("a", "d", "c"), snapshot(), {}) == (("a", "c"), "its key")
    by_c = {"c": Counter({"top": 2}), "b": Counter({"top": 5})}
    assert table_columns(("a", "c"), snapshot(), by_c) == (("c", "a"), "its key")
    assert table_columns(("d",), snapshot(), {})[0] == ()


def test_a_bag_is_sorted_by_what_consumers_read_it_by_else_by_its_first_column() -> None:
    assert table_columns(None, snapshot(), {}) == (("a",), "its first column")
    by_b = {"b": Counter({"top": 1}), "d": Counter({"top": 9})}
    assert table_columns(None, snapshot(), by_b) == (("b",), "read by top")


def test_a_single_row_is_not_sorted() -> None:
    assert table_columns((), snapshot(), {}) == ((), "")


def test_advice_for_a_stream_table_says_what_to_run_only_if_it_pays() -> None:
    good = advise_table("s.t", ("a",), snapshot(), {})
    assert (good.needed, good.command) == ("", None)
    assert good.text() == "good: 16 files, a key of a touches 6% of them"
    poor = advise_table("s.t", ("a",), snapshot(scattered=True), {})
    assert poor.command == "penstock optimize s.t"
    assert poor.text() == "sort by a (its key): a key touches 100% of 16 files, sorted it would touch 1%"
    assert poor.to_json()["share_touched"] == 1
    assert poor.to_json()["share_expected"] == 1 / 128


def test_a_source_is_sorted_by_the_columns_that_are_read_most() -> None:
    reads = {"a": Counter({"x": 1}), "c": Counter({"x": 2, "y": 3}), "b": Counter({"y": 3})}
    told = advise_source("s.t", snapshot(scattered=True), reads)
    assert told.columns == ("c", "b")
    assert told.because == "read by x, y"
    assert told.command is not None
    assert told.command.endswith("OPTIMIZE `s`.`t` ZORDER BY (`c`, `b`)")
    assert told.expected == pytest.approx(128**-0.5)
    assert advise_source("s.t", snapshot(), reads).command is None


def test_a_source_that_nobody_reads_by_a_column_or_that_its_owner_clusters_is_only_compacted() -> None:
    assert advise_source("s.t", snapshot(scattered=True), {}).command is None
    reads = {"a": Counter({"x": 1})}
    told = advise_source("s.t", snapshot(scattered=True, features=frozenset({"clustering"})), reads)
    assert told.command is not None
    assert "ZORDER" not in told.command


def test_the_partitioning_of_a_source_is_no_column_to_sort_by() -> None:
    assert advise_source("s.t", snapshot(scattered=True, partitions=("a",)), {"a": Counter({"x": 1})}).columns == ()
