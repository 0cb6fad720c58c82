"""ERROR ends when what caused it is over: the scheduler tries again by itself, and consumers that waited go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warehouses import warehouse

from penstock.catalog import RefreshStatus
from penstock.errors import PenstockError, QueryFailed
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

LAG = "2 seconds"


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[StreamTables]:
    with warehouse(spark, tmp_path, min_target_lag_seconds=1, backoff_seconds=1, backoff_max_seconds=1) as opened:
        yield opened


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < deadline, f"it did not come to pass: {what}"
        time.sleep(0.2)


def statuses(ps: StreamTables) -> dict[str, str]:
    return {row.name.removeprefix("shop."): row.status for row in ps.status()}


def failures(ps: StreamTables, name: str) -> int:
    return sum(each.status is RefreshStatus.FAILED for each in ps.history(name, 1000))


@pytest.mark.slow
def test_everything_that_failed_goes_on_when_its_cause_is_over(ps: StreamTables) -> None:
    ps.sql(
        """CREATE TABLE src (id INT, v INT, s STRING); INSERT INTO src VALUES (1, 1, '1');
        CREATE TABLE other (id INT, v INT); INSERT INTO other VALUES (1, 1);
        CREATE TABLE gone (id INT); INSERT INTO gone VALUES (1);
        CREATE VIEW seen AS SELECT id, v AS x FROM other"""
    )
    ps.spark.udf.register("plus_one", lambda v: v + 1, "INT")
    failing = {
        "zero": "SELECT id, 100 / v AS x FROM src",
        "overflow": "SELECT id, v * 2000000000 AS x FROM src",
        "number": "SELECT id, CAST(s AS INT) AS x FROM src",
        "away": "SELECT count(*) AS n FROM gone",
        "viewed": "SELECT id, x FROM seen",
        "called": "SELECT id, plus_one(v) AS x FROM other",
    }
    for name, query in failing.items():
        ps.create_stream_table(name, query, LAG)
    ps.create_stream_table("keyed", "SELECT id, v FROM src", LAG, key=["id"])
    ps.create_stream_table("over_zero", "SELECT count(*) AS n FROM zero", LAG)
    ps.create_stream_table("over_over", "SELECT n FROM over_zero", LAG)
    place = ps.path / "tables" / "shop.db" / "gone"
    with ps.run() as running:
        until(lambda: running.leads, "leading")
        ps.sql("INSERT INTO src VALUES (2, 0, '2'), (3, 2, 'x'), (1, 5, '5')")
        place.rename(ps.path / "away")
        ps.spark.sql("CREATE OR REPLACE VIEW seen AS SELECT id FROM other")
        ps.spark.sql("DROP TEMPORARY FUNCTION plus_one")
        ps.sql("INSERT INTO other VALUES (2, 2)")
        broken = {*failing, "keyed"}
        until(lambda: {name for name, status in statuses(ps).items() if status == "ERROR"} == broken, "all broken")
        blocked = {row.name: row.blocked_by for row in ps.status() if row.blocked_by}
        assert blocked == {"shop.over_zero": ("shop.zero",), "shop.over_over": ("shop.zero",)}
        # Each is tried a second time, and then no more: nothing has changed.
        until(lambda: all(failures(ps, name) >= 2 for name in broken), "the second try")
        time.sleep(4)
        # A function whose code nobody can read any more may be mended at any moment.
        assert {name: failures(ps, name) for name in broken - {"called"}} == dict.fromkeys(broken - {"called"}, 2)
        assert "It is tried again when shop.src" in next(
            each.advice.replace("spark_catalog.", "") for each in ps.diagnose("zero").findings if each.code == "ERROR"
        )
        # Nobody refreshes or resumes anything from here on.
        ps.sql("DELETE FROM src WHERE id <> 1 OR v = 5")
        (ps.path / "away").rename(place)
        ps.spark.sql("CREATE OR REPLACE VIEW seen AS SELECT id, v AS x FROM other")
        ps.spark.udf.register("plus_one", lambda v: v + 1, "INT")
        until(lambda: set(statuses(ps).values()) == {"ACTIVE"}, "all mended")
        ps.sql("INSERT INTO src VALUES (7, 1, '7')")
        until(lambda: [row.n for row in ps.table("over_over").collect()] == [2], "consumers go on")
    for name in (*failing, "keyed", "over_zero", "over_over"):
        assert_exact(ps, name)
    resumed = {each.stream_table for each in ps.alerts(max_rows=1000) if each.event.value == "resumed"}
    assert resumed == {f"shop.{name}" for name in broken}


def test_a_refresh_by_hand_tries_what_is_in_error_upstream(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src (id INT, v INT); INSERT INTO src VALUES (1, 1)")
    ps.create_stream_table("zero", "SELECT id, 100 / v AS x FROM src")
    ps.create_stream_table("over", "SELECT count(*) AS n FROM zero")
    ps.sql("INSERT INTO src VALUES (2, 0)")
    for name in ("zero", "over"):
        with pytest.raises(QueryFailed, match="DIVIDE_BY_ZERO"):
            ps.refresh(name)
    assert statuses(ps) == {"zero": "ERROR", "over": "ACTIVE"}
    ps.sql("UPDATE src SET v = 5 WHERE v = 0")
    ps.refresh("over")
    assert set(statuses(ps).values()) == {"ACTIVE"}
    assert_exact(ps, "over")


def test_what_is_suspended_stays_so_when_it_fails_by_hand(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src (id INT, v INT); INSERT INTO src VALUES (1, 1)")
    ps.create_stream_table("zero", "SELECT id, 100 / v AS x FROM src")
    ps.sql("ALTER STREAM TABLE zero SUSPEND; INSERT INTO src VALUES (2, 0)")
    with pytest.raises(PenstockError):
        ps.refresh("zero")
    assert statuses(ps) == {"zero": "SUSPENDED"}
