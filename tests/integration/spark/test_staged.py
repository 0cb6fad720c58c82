"""Large results: files by Spark, one commit by delta-rs; the same rows, counted before, found again by every filter."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.write import layout, staged
from penstock.errors import KeyViolated
from penstock.refresh.stages import compute
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

ROWS = """
    SELECT id, CAST(id % 10 AS INT) AS k, IF(id % 7 = 0, NULL, concat('s', id % 7)) AS s,
      timestamp_micros(id * 1234567) AS ts, CAST(timestamp_micros(id * 1234567) AS TIMESTAMP_NTZ) AS n,
      IF(id % 11 = 0, double('NaN'), IF(id % 2 = 0, double('-0.0'), id)) AS d, CAST(id / 3 AS DECIMAL(20,4)) AS e,
      DATE'1850-01-01' + CAST(id AS INT) AS day, repeat('x', CAST(id AS INT)) AS long FROM range(400)"""


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "SMALL_RESULT", 0)
    monkeypatch.setattr(staged, "ROWS_PER_FILE", 60)
    monkeypatch.setattr(staged, "SORT_ROWS", 200)
    monkeypatch.setattr(layout, "SMALLEST_FILE", 500)


def test_a_staged_table_is_its_query_and_every_value_is_found_again(ps: StreamTables) -> None:
    ps.sql(f"CREATE TABLE t AS {ROWS}")
    ps.create_stream_table("st", "SELECT * FROM t", refresh_mode="FULL")
    newest = ps.history("st")[0]
    assert (newest.applier, newest.rows_inserted) == ("delta-rs", 400)
    assert_exact(ps, "st")
    # Spark skips files by the bounds that were written.
    for column in ("id", "k", "s", "ts", "n", "day", "long", "e", "d"):
        missed = ps.spark.sql(
            f"SELECT count(*) FROM t WHERE `{column}` IS NOT NULL AND id % 50 = 3 AND NOT EXISTS "
            f"(SELECT 1 FROM st WHERE st.`{column}` = t.`{column}`)"
        ).collect()[0][0]
        assert missed == 0, column
    for row in ps.spark.sql("SELECT CAST(ts AS STRING), CAST(day AS STRING), s FROM t WHERE id IN (3, 399)").collect():
        assert ps.spark.sql(f"SELECT * FROM st WHERE ts = TIMESTAMP'{row[0]}'").count() == 1
        assert ps.spark.sql(f"SELECT * FROM st WHERE day = DATE'{row[1]}'").count() == 1
    ps.sql("DELETE FROM t WHERE id % 3 = 0")
    done = ps.refresh("st")
    assert (done.rows_inserted, done.rows_deleted) == (266, 400)
    assert_exact(ps, "st")


def test_first_rows_are_sorted_into_files_that_can_be_told_apart(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t AS SELECT id * 7919 % 1000 AS id, id AS v FROM range(1000)")
    ps.create_stream_table("st", "SELECT id, v FROM t", refresh_mode="INCREMENTAL")
    snapshot = DeltaLog(ps.info("st")[0]["path"]).snapshot()
    bounds = sorted((file.stats.low["id"], file.stats.high["id"]) for file in snapshot.files)
    assert len(bounds) >= 10
    assert all(before[1] < after[0] for before, after in itertools.pairwise(bounds))
    ps.sql("UPDATE t SET v = -v WHERE id < 20")
    ps.refresh("st")
    assert_exact(ps, "st")


def test_hidden_groups_are_counted_before_the_commit(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t AS SELECT id % 50 AS k FROM range(120)")
    ps.create_stream_table("st", "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 2")
    assert ps.history("st")[0].rows_inserted == 20
    assert_exact(ps, "st")
    ps.sql("INSERT INTO t SELECT id FROM range(30)")
    ps.refresh("st")
    assert_exact(ps, "st")


def test_a_key_that_occurs_twice_commits_nothing(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t AS SELECT id % 9 AS k, id AS v FROM range(20)")
    with pytest.raises(KeyViolated):
        ps.create_stream_table("st", "SELECT k, v FROM t", key=["k"])
    assert ps.status() == []


def test_a_fresh_read_leaves_no_files(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t AS SELECT id FROM range(100)")
    ps.create_stream_table("st", "SELECT id, id * 2 AS twice FROM t", refresh_mode="INCREMENTAL")
    ps._warehouse.set_settings(replace(ps.settings, delta_rs_max_rows=10))
    storage = Path(ps.info("st")[0]["path"])
    held = sorted(storage.rglob("*"))
    ps.sql("INSERT INTO t SELECT id FROM range(100, 150)")
    assert ps.table("st", fresh=True).count() == 150
    assert sorted(storage.rglob("*")) == held
    ps.refresh("st")
    assert len(list(storage.glob("staged-*"))) > sum(each.name.startswith("staged-") for each in held)
    assert_exact(ps, "st")
