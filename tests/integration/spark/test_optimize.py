"""Laying files out anew changes no row: not for readers of a table, not for its consumers, not for later refreshes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from warehouses import warehouse

import penstock
import penstock.engine.delta.interval as interval
import penstock.layout.optimize as optimizing
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.interval import Way, classify
from penstock.engine.read import pruning
from penstock.engine.read.scan import changes
from penstock.engine.write import layout
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import FILE_SIZE
from penstock.errors import CommitConflict, StreamTableNotFound
from penstock.names import WEIGHT
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables
    from penstock.layout.optimize import OptimizeResult

ROWS, FILES = 1200, 6
NUMBERS = list(range(ROWS))
random.Random(5).shuffle(NUMBERS)
DOUBLES = (-0.0, 0.0, float("nan"), None, float("inf"))


@pytest.fixture(autouse=True)
def _small_tables_count_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "WORTH_ROWS", 100)
    monkeypatch.setattr(layout, "SMALLEST_FILE", 1500)


def make(ps: StreamTables) -> DeltaTable:
    """Facts whose files all cover the same range of `k`; every third row occurs in each of two files."""
    path = str(ps.path / "sources" / "facts")
    for at in range(FILES):
        part = [n if n % 3 else n // 2 * 3 for n in NUMBERS[at::FILES]]
        rows = {
            "k": pa.array([n if n % 400 else None for n in part], pa.int64()),
            "g": pa.array([n % 7 for n in part], pa.int64()),
            "d": pa.array([DOUBLES[n % 7] if n % 7 < 5 else n / 2 for n in part], pa.float64()),
        }
        write_deltalake(path, pa.table(rows), mode="append", configuration={"delta.enableChangeDataFeed": "true"})
    ps.spark.sql(f"CREATE TABLE facts USING delta LOCATION '{path}'")
    return DeltaTable(path)


def refreshed(ps: StreamTables, *names: str) -> None:
    for name in names:
        assert_exact(ps, name, "INCREMENTAL", ps.refresh(name), to_the_bit=True)


def only(results: list[OptimizeResult]) -> OptimizeResult:
    assert len(results) == 1
    return results[0]


def storage(ps: StreamTables, name: str) -> Storage:
    return Storage.open(str(ps.info(name)[0]["path"]))


def physical(ps: StreamTables, name: str) -> tuple[int, int]:
    """Rows in the files, and the rows they stand for."""
    held = ps.spark.read.format("delta").load(storage(ps, name).path).agg({"*": "count", WEIGHT: "sum"}).first()
    assert held is not None
    return held[0], held[1]


def test_a_stream_table_is_sorted_and_stays_exact(ps: StreamTables) -> None:
    facts = make(ps)
    # Statistics of doubles and long decimals that Spark wrote must not mislead what delta-rs and Spark do next.
    ps.create_stream_table(
        "sums",
        "SELECT d, k, count(*) AS n, CAST(sum(k) AS DECIMAL(38,18)) AS s FROM facts GROUP BY d, k",
        refresh_mode="INCREMENTAL",
    )
    ps.create_stream_table("highs", "SELECT k, max(n) AS n FROM sums GROUP BY k")
    told = {each.table: each for each in ps.advise()}
    assert told["shop.sums"].columns == ("k",)
    assert "layout     sort by k (its key)" in ps.explain("sums").text()
    assert only(ps.optimize("sums", dry_run=True)).done == ()
    before = storage(ps, "sums").version
    done = only(ps.optimize("sums"))
    assert done.done == ("sorted",)
    assert done.version == storage(ps, "sums").version == before + 2
    assert done.after.files > done.advice.layout.files
    assert (done.after.touched or 1) < 0.5 * (done.advice.layout.touched or 0)
    pin = storage(ps, "sums").pin()
    assert (pin.foreign, pin.damaged, pin.not_fast, pin.laid_out_by) == ((), None, None, ("k",))
    assert storage(ps, "sums").configuration[FILE_SIZE] != str(32 << 20)
    # Nothing to be seen from outside, and nothing to be done again.
    assert ps.refresh("highs").action == "NO_DATA"
    assert "good" in only(ps.optimize("sums")).reason
    assert ps.audit("sums").exact
    facts.update(predicate="k < 50 OR isnan(d)", updates={"k": "k + 1"})
    facts.delete("k IS NULL OR d = 0.0")
    done_refresh = ps.refresh("sums")
    assert done_refresh.applier == "delta-rs"
    assert_exact(ps, "sums", "INCREMENTAL", done_refresh, to_the_bit=True)
    refreshed(ps, "highs")


def test_a_bag_is_folded_and_both_ways_of_reading_its_interval_agree(ps: StreamTables) -> None:
    facts = make(ps)
    ps.create_stream_table("bag", "SELECT g, d FROM facts")
    ps.create_stream_table("groups", "SELECT g, count(*) AS n FROM bag GROUP BY g")
    start = storage(ps, "bag").version
    rows = physical(ps, "bag")
    assert rows == (ROWS, ROWS)
    result = ps.sql("OPTIMIZE STREAM TABLE bag")
    assert result.rows[0][1] == "sorted"
    folded = physical(ps, "bag")
    assert folded[0] < ROWS / 2
    assert folded[1] == ROWS
    assert ps.audit("bag").exact
    facts.delete("k < 300")
    write_deltalake(facts, pa.table({"k": [1, 1], "g": [3, 3], "d": [-0.0, 0.0]}), mode="append")
    refreshed(ps, "bag")
    log = DeltaLog(storage(ps, "bag").path)
    change = classify(log, start, log.latest_version())
    columns = ["g", "d"]
    by_commit = replace(change, parts=interval._merge(each.own for each in _steps(log, start)))
    by_ends = replace(change, parts=(interval._ends(change.start, change.end),), insert_only=False)
    assert {part.way for part in by_commit.parts} == {Way.COMMITS}
    told: list[Any] = []
    for each in (by_commit, by_ends):
        frame = changes(ps.spark, log, each, columns, weight_column=WEIGHT)
        told.append(sorted(str(row) for row in frame.collect()))
    assert told[0] == told[1] != []
    refreshed(ps, "groups")


def _steps(log: DeltaLog, start: int) -> Any:
    return interval._steps(log.snapshot(start), log.commits(start, log.latest_version()))


def test_whoever_comes_first_wins_and_nothing_is_lost(ps: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = make(ps)
    ps.create_stream_table("bag", "SELECT g, d FROM facts")
    held = storage(ps, "bag")
    facts.delete("k < 100")
    pin = held.pin()
    stale = held.version
    assert ps.refresh("bag").action == "INCREMENTAL"
    snapshot = DeltaLog(held.path).snapshot(stale)
    rewrite = optimizing.rewrite
    with pytest.raises(CommitConflict, match="moved from version"):
        rewrite(ps.spark, held, pin, snapshot, ("g",), 2)
    # Even a sleeper that wakes behind that check is stopped, by its transaction number.
    newest = held.version
    monkeypatch.setattr(Storage, "version", property(lambda self: pin.version))
    with pytest.raises(CommitConflict, match="rows were changed"):
        rewrite(ps.spark, held, pin, snapshot, ("g",), 2)
    monkeypatch.undo()
    assert storage(ps, "bag").version == newest
    assert ps.audit("bag").exact


def test_a_source_is_sorted_only_if_it_is_named(ps: StreamTables) -> None:
    make(ps)
    ps.create_stream_table("twins", "SELECT a.k, b.g FROM facts a JOIN facts b ON a.k = b.k")
    told = next(each for each in ps.optimize(dry_run=True) if each.table == "shop.facts")
    assert (told.done, told.advice.columns) == ((), ("k",))
    assert "read by twins" in told.reason
    done = only(ps.optimize("facts"))
    assert done.done == ("sorted",)
    assert (done.after.touched or 1) < 0.5 * (done.advice.layout.touched or 0)
    assert ps.refresh("twins").action == "NO_DATA"
    with pytest.raises(StreamTableNotFound):
        ps.optimize("nothing")


@pytest.mark.slow
def test_marked_rows_are_purged_and_vectors_are_turned_off_where_they_are_not_allowed(
    spark: SparkSession, tmp_path: Path
) -> None:
    with warehouse(spark, tmp_path, deletion_vector_bytes=1, shuffle_partitions=2) as ps:
        facts = make(ps)
        ps.create_stream_table("bag", "SELECT g, d FROM facts", refresh_mode="INCREMENTAL")
        ps.create_stream_table("over", "SELECT g, count(*) AS n FROM bag GROUP BY g", refresh_mode="INCREMENTAL")
        facts.delete("k < 90")
        facts.update(predicate="k > 1100", updates={"g": "g + 1"})
        refreshed(ps, "bag", "over")
        log = DeltaLog(storage(ps, "bag").path)
        assert any(file.deletion_vector for file in log.snapshot().files)
        purged = only(ps.optimize("bag"))
        assert (purged.done, purged.after.hidden_rows, purged.after.deletion_vectors) == (("sorted",), 0, True)
        assert storage(ps, "bag").pin().marks
        facts.delete("k > 1180")
        refreshed(ps, "bag", "over")
        again = penstock.open(tmp_path, spark=ps.spark, settings={"deletion_vector_bytes": 0})
        done = only(again.optimize("bag"))
        assert done.done == ("deletion vectors off", "sorted")
        assert not done.after.deletion_vectors
        assert again.audit("bag").exact
        assert storage(ps, "bag").pin().not_fast is None
        facts.delete("k > 1150")
        result = again.refresh("bag")
        assert result.applier == "delta-rs"
        assert_exact(again, "bag", "INCREMENTAL", result, to_the_bit=True)
        refreshed(again, "over")
        again.close()
