"""Many stream tables in one go: side by side, quiet ones at once, and read at one instant."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable, write_deltalake
from warehouses import warehouse

from penstock.catalog.model import Advance
from penstock.catalog.sqlite import SqliteCatalog
from penstock.errors import NoCommonInstant
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.api import StreamTables

WIDE = {
    "a_sums": "SELECT g, sum(v) AS s, count(*) AS n FROM a GROUP BY g",
    "a_rows": "SELECT id, v + 1 AS w FROM a WHERE v > 2",
    "a_max": "SELECT g, max(v) AS m FROM a GROUP BY g",
    "a_groups": "SELECT DISTINCT g FROM a",
    "b_sums": "SELECT g, sum(v) AS s FROM b GROUP BY g",
    "b_last": "SELECT g, id, row_number() OVER (PARTITION BY g ORDER BY v DESC, id) AS place FROM b",
    "pairs": "SELECT a.id, b.v FROM a JOIN b ON a.id = b.id",
    "alone": "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id)",
    "both": "SELECT g FROM a UNION ALL SELECT g FROM b",
    "sums_of_both": "SELECT x.g, x.s AS left_sum, y.s AS right_sum FROM a_sums x JOIN b_sums y ON x.g <=> y.g",
    "large_sums": "SELECT g, s FROM a_sums WHERE s > 5",
    "top": "SELECT count(*) AS n, sum(left_sum) AS s FROM sums_of_both",
}


@pytest.fixture
def two(ps: StreamTables) -> StreamTables:
    ps.sql("CREATE TABLE a (id INT, g INT, v INT); CREATE TABLE b (id INT, g INT, v INT)")
    return ps


def change(ps: StreamTables, chance: random.Random, table: str) -> None:
    """Some rows in, some changed, some out, in commits of their own."""
    rows = [(chance.randrange(30), chance.choice([1, 2, 3, None]), chance.randrange(9)) for _ in range(6)]
    text = ", ".join(f"({id}, {'NULL' if g is None else g}, {v})" for id, g, v in rows)
    ps.sql(f"INSERT INTO {table} VALUES {text}")
    if chance.random() < 0.5:
        ps.sql(f"UPDATE {table} SET v = v + 1 WHERE id % 3 = {chance.randrange(3)}")
    if chance.random() < 0.5:
        ps.sql(f"DELETE FROM {table} WHERE id = {rows[0][0]}")


def bag(frame: DataFrame) -> list[Any]:
    return sorted(map(tuple, frame.collect()), key=repr)


def now_and_then() -> Iterator[datetime]:
    moment = datetime.now(UTC)
    while True:
        moment += timedelta(minutes=5)
        yield moment


def test_a_wide_graph_refreshed_side_by_side_is_exact(two: StreamTables) -> None:
    chance, moments = random.Random(7), now_and_then()
    for table in "ab":
        change(two, chance, table)
    for name, query in WIDE.items():
        two.create_stream_table(name, query)
    before = set(threading.enumerate())
    for table in "ab":
        change(two, chance, table)
    done = two.tick(next(moments))
    names = [each.name.split(".")[1] for each in done]
    assert sorted(names) == sorted(WIDE)
    assert names.index("top") > names.index("sums_of_both") > max(names.index("a_sums"), names.index("b_sums"))
    assert [each.name for each in done if each.action not in {"INCREMENTAL", "NO_DATA"}] == []
    for name in WIDE:
        assert_exact(two, name)
    for name in ("pairs", "sums_of_both", "top"):
        assert two.audit(name).exact
    asked = ("a_sums", "top", "both")
    frames = two.read_together(asked)
    assert [bag(frames[name]) for name in asked] == [bag(two.table(name)) for name in asked]
    assert set(threading.enumerate()) <= before
    assert [each.action for each in two.tick(next(moments))] == ["NO_DATA"] * len(WIDE)


def test_side_by_side_means_at_the_same_time(two: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "three"):
        two.create_stream_table(name, f"SELECT id, '{name}' AS n FROM a")
    two.create_stream_table(
        "all_of_them", "SELECT * FROM one UNION ALL SELECT * FROM two UNION ALL SELECT * FROM three"
    )
    refresher = two._warehouse.refresher
    met, plain, pools = threading.Barrier(3), refresher.refresh, set()

    def refresh(request: Any, *rest: Any) -> Any:
        if request.meta.name.table != "all_of_them":
            met.wait(timeout=30)
            pools.add(two.spark.sparkContext.getLocalProperty("spark.scheduler.pool"))
        return plain(request, *rest)

    monkeypatch.setattr(refresher, "refresh", refresh)
    two.sql("INSERT INTO a VALUES (1, 1, 1)")
    [*_, last] = two.tick(datetime.now(UTC) + timedelta(minutes=5))
    assert (last.name, last.rows_inserted) == ("shop.all_of_them", 3)
    assert [each.name for each in last.upstream] == ["shop.one", "shop.three", "shop.two"]
    assert pools >= {"penstock-1", "penstock-2"}


def test_an_error_holds_up_its_own_consumers_only(two: StreamTables) -> None:
    two.sql("INSERT INTO a VALUES (1, 1, 1)")
    two.create_stream_table("wrong", "SELECT id, 1 / v AS x FROM a")
    two.create_stream_table("over_wrong", "SELECT count(*) AS n FROM wrong")
    two.create_stream_table("right", "SELECT id FROM a")
    two.create_stream_table("over_right", "SELECT count(*) AS n FROM right")
    two.sql("INSERT INTO a VALUES (2, 2, 0)")
    done = {each.name: each for each in two.tick(datetime.now(UTC) + timedelta(minutes=5))}
    assert {name: each.error.condition if each.error else str(each.action) for name, each in done.items()} == {
        "shop.over_right": "INCREMENTAL",
        "shop.over_wrong": "SKIP",
        "shop.right": "INCREMENTAL",
        "shop.wrong": "QUERY_FAILED",
    }
    assert done["shop.over_wrong"].upstream == (done["shop.wrong"],)
    assert two.history("wrong", 1)[0].status == "FAILED"


def test_a_quiet_tick_is_one_transaction_and_a_foreign_write_is_not_quiet(
    two: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.sql("INSERT INTO a VALUES (1, 1, 1)")
    for name in ("one", "other"):
        two.create_stream_table(name, "SELECT g, sum(v) AS s FROM a GROUP BY g")
    two.create_stream_table("over", "SELECT one.s FROM one JOIN other ON one.g = other.g")
    advanced: list[int] = []
    plain = SqliteCatalog.advance_no_data

    def advance(self: SqliteCatalog, advances: Sequence[Advance], **rest: Any) -> frozenset[int]:
        advanced.append(len(advances))
        return plain(self, advances, **rest)

    monkeypatch.setattr(SqliteCatalog, "advance_no_data", advance)
    moments = now_and_then()
    assert [each.action for each in two.tick(next(moments))] == ["NO_DATA"] * 3
    assert advanced == [3]
    path = str(two.info("one")[0]["path"])
    stored = DeltaTable(path).to_pyarrow_table()
    write_deltalake(path, stored, mode="append")
    done = {each.name: (str(each.action), each.reason_code) for each in two.tick(next(moments))}
    assert done["shop.one"] == ("REINITIALIZE", "FOREIGN_WRITE")
    assert done["shop.other"] == ("NO_DATA", None)
    for name in ("one", "other", "over"):
        assert_exact(two, name)


# -- reading together


def test_stored_tables_are_read_at_the_newest_instant_that_all_can_show(two: StreamTables) -> None:
    two.sql("INSERT INTO a VALUES (1, 1, 1); INSERT INTO b VALUES (1, 1, 1)")
    two.create_stream_table("rows_of_a", "SELECT id FROM a")
    two.create_stream_table("count_of_a", "SELECT count(*) AS n FROM a")
    two.create_stream_table("large_of_a", "SELECT id FROM a WHERE v > 100")
    two.create_stream_table("over", "SELECT count(*) AS n FROM rows_of_a")
    together = ("rows_of_a", "count_of_a", "large_of_a", "over")

    def read() -> list[list[Any]]:
        return [bag(frame) for frame in two.read_together(together).values()]

    assert read() == [[(1,)], [(1,)], [], [(1,)]]
    # One is ahead: it is read where the others are, although its rows there were never committed anew.
    two.sql("INSERT INTO a VALUES (2, 1, 1)")
    two.refresh("large_of_a")
    two.refresh("rows_of_a")
    assert read() == [[(1,)], [(1,)], [], [(1,)]]
    two.refresh("over")
    two.refresh("count_of_a")
    assert read() == [[(1,), (2,)], [(2,)], [], [(2,)]]
    two.sql("INSERT INTO a VALUES (3, 1, 200)")
    two.refresh("large_of_a")
    assert read() == [[(1,), (2,)], [(2,)], [], [(2,)]]
    for name in ("over", "count_of_a"):
        two.refresh(name)
    assert read() == [[(1,), (2,), (3,)], [(3,)], [(3,)], [(3,)]]
    joined = two.read_together(["rows_of_a", "large_of_a"])
    assert bag(joined["rows_of_a"].join(joined["large_of_a"], "id")) == [(3,)]


def test_tables_without_a_common_instant_are_named(two: StreamTables) -> None:
    two.create_stream_table("old", "SELECT id FROM a")
    two.sql("INSERT INTO a VALUES (1, 1, 1)")
    two.create_stream_table("young", "SELECT g FROM a")
    with pytest.raises(NoCommonInstant, match=r"young no longer shows shop.a as old as shop.old does") as refused:
        two.read_together(["old", "young"])
    assert "Refresh shop.old" in str(refused.value)
    assert [bag(frame) for frame in two.read_together(["old", "young"], fresh=True).values()] == [[(1,)], [(1,)]]
    two.refresh("old")
    assert [bag(frame) for frame in two.read_together(["old", "young"]).values()] == [[(1,)], [(1,)]]


def test_a_fresh_read_goes_through_its_upstreams_and_stores_nothing(two: StreamTables) -> None:
    chance, moments = random.Random(3), now_and_then()
    for table in "ab":
        change(two, chance, table)
    queries = {name: WIDE[name] for name in ("a_sums", "b_sums", "sums_of_both", "top")}
    queries["twice"] = "SELECT x.g, y.n FROM a_sums x JOIN a_sums y ON x.n >= y.n"
    for name, query in queries.items():
        two.create_stream_table(name, query)
    for moved in ("b", "ab"):
        for table in moved:
            change(two, chance, table)
        versions = {name: DeltaTable(str(two.info(name)[0]["path"])).version() for name in queries}
        fresh = {name: bag(frame) for name, frame in two.read_together(queries, fresh=True).items()}
        assert bag(two.table("top", fresh=True)) == fresh["top"]
        assert {name: DeltaTable(str(two.info(name)[0]["path"])).version() for name in queries} == versions
        two.tick(next(moments))
        assert fresh == {name: bag(two.table(name)) for name in queries}


def test_threads_of_a_user_do_not_meet_in_one_workspace(spark: SparkSession, tmp_path: Path) -> None:
    """Refreshes, fresh reads and audits of one table at the same time share its session, one after the other."""
    with warehouse(spark, tmp_path) as ps:
        ps.sql("CREATE TABLE a (id INT, g INT, v INT); INSERT INTO a VALUES (1, 1, 1)")
        ps.create_stream_table("st", "SELECT g, sum(v) AS s FROM a GROUP BY g")
        ps.sql("INSERT INTO a VALUES (2, 1, 1)")
        wrong: list[object] = []

        def read() -> None:
            read = [bag(ps.table("st", fresh=True)) for _ in range(3)]
            wrong.extend(rows for rows in read if rows != [(1, 2)])

        def audit() -> None:
            told = [ps.audit("st") for _ in range(2)]
            wrong.extend(report for report in told if not report.exact)

        threads = [threading.Thread(target=each) for each in (read, audit, lambda: ps.refresh("st"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert_exact(ps, "st")
