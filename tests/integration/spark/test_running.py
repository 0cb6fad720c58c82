"""The scheduler on a real warehouse: everything stays fresh, consistent and exact, whatever happens to one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warehouses import warehouse

import penstock
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

GROUPS = "SELECT g, sum(v) AS s FROM src GROUP BY g"


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[StreamTables]:
    with warehouse(spark, tmp_path, min_target_lag_seconds=1, backoff_seconds=1) as opened:
        opened.sql("CREATE TABLE src (id INT, g INT, v INT); INSERT INTO src VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)")
        yield opened


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


def rows(ps: StreamTables, name: str) -> set[tuple[object, ...]]:
    return {tuple(row) for row in ps.table(name).collect()}


def test_a_graph_stays_fresh_and_a_broken_table_delays_only_its_consumers(ps: StreamTables) -> None:
    ps.create_stream_table("groups", GROUPS, "2 seconds")
    ps.create_stream_table("total", "SELECT sum(s) AS total FROM groups", "2 seconds")
    ps.create_stream_table("shares", "SELECT g, s / total AS share FROM groups CROSS JOIN total", "2 seconds")
    ps.create_stream_table("wrong", "SELECT id, 100 / v AS x FROM src", "2 seconds")
    ps.create_stream_table("over_wrong", "SELECT count(*) AS n FROM wrong", "2 seconds")
    with ps.run() as running:
        until(lambda: running.leads)
        ps.sql("INSERT INTO src VALUES (4, 2, 0)")
        until(lambda: rows(ps, "total") == {(60,)} and _status(ps, "wrong") == "ERROR")
        ps.sql("INSERT INTO src VALUES (5, 3, 40)")
        until(lambda: rows(ps, "total") == {(100,)} and (3, 40) in rows(ps, "groups"))
        assert rows(ps, "over_wrong") == {(3,)}, "it stays at a consistent old state"
        [waiting] = [row for row in ps.status() if row.name == "shop.over_wrong"]
        assert waiting.blocked_by == ("shop.wrong",)
        ps.sql("UPDATE src SET v = 5 WHERE v = 0; ALTER STREAM TABLE wrong RESUME")
        until(lambda: rows(ps, "over_wrong") == {(5,)})
    for name in ("groups", "total", "shares", "wrong", "over_wrong"):
        assert_exact(ps, name)
    assert {alert.event.value for alert in ps.alerts()} >= {"refresh_failed", "auto_suspended", "resumed"}
    blocked = [each for each in ps.history("over_wrong", 1000) if "UPSTREAM_BLOCKED" in (each.reason or "")]
    assert 1 <= len(blocked) <= 3, "said once, not at every stamp"


def _status(ps: StreamTables, name: str) -> str:
    return next(row.status for row in ps.status() if row.name == f"shop.{name}")


def test_every_version_can_say_what_it_shows(ps: StreamTables) -> None:
    ps.create_stream_table("groups", GROUPS, "2 seconds")
    ps.create_stream_table("total", "SELECT sum(s) AS total FROM groups", "2 seconds")
    for number in range(3):
        ps.sql(f"INSERT INTO src VALUES ({10 + number}, 1, 1)")
        ps.refresh("total")
    newest = ps.versions("total", 1)[0]
    assert newest.bases == {"shop.src": 4}
    assert newest.sources == {"shop.groups": ps.versions("groups", 1)[0].version}
    stamps: list[Any] = [each.data_timestamp for each in ps.versions("groups")]
    assert stamps == sorted(stamps, reverse=True)
    assert len(stamps) == 4
    assert [each.sources["shop.src"] for each in ps.versions("groups")] == [4, 3, 2, 1]


def test_pause_and_the_switch_stop_the_scheduler_but_not_a_person(ps: StreamTables) -> None:
    ps.create_stream_table("groups", GROUPS, "1 second")
    ps.pause()
    with ps.run() as running:
        until(lambda: running.leads)
        ps.sql("INSERT INTO src VALUES (4, 9, 1)")
        time.sleep(3)
        assert ps.tick() == [], "it comes from cron, not from a person"
        assert (9, 1) not in rows(ps, "groups")
        assert ps.refresh("groups").action == "INCREMENTAL"
        ps.resume()
        ps.sql("INSERT INTO src VALUES (5, 8, 1)")
        until(lambda: (8, 1) in rows(ps, "groups"))
        (ps.path / "penstock.toml").write_text("enabled = false\n", encoding="utf-8")
        assert not ps.reload().enabled
        ps.sql("INSERT INTO src VALUES (6, 7, 1)")
        time.sleep(3)
        assert (7, 1) not in rows(ps, "groups")
    assert ps.tick() == []


def test_a_mass_update_blows_the_fuse_and_a_person_can_let_it_through(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.refresh.stages.fuse.FLOOR", 100)
    (ps.path / "penstock.toml").write_text("max_change_ratio = 10\n", encoding="utf-8")
    ps.reload()
    ps.create_stream_table("groups", GROUPS, "1 second", "INCREMENTAL")
    for number in range(3):
        ps.sql(f"INSERT INTO src VALUES ({number}, 1, 1)")
        ps.refresh("groups")
    before = rows(ps, "groups")
    with ps.run():
        ps.sql("INSERT INTO src SELECT id, 1, 1 FROM range(500)")
        until(lambda: _status(ps, "groups") == "SUSPENDED")
        assert rows(ps, "groups") == before
    ps.sql("ALTER STREAM TABLE groups RESUME")
    ps.tick()
    assert _status(ps, "groups") == "SUSPENDED", "cron is no person"
    assert rows(ps, "groups") == before
    assert "500 changed rows" in str(next(row.last_error for row in ps.status()))
    ps.refresh("groups")
    assert rows(ps, "groups") != before
    assert_exact(ps, "groups")


def test_upkeep_lays_out_a_crowd_of_small_files(ps: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.graph.side_by_side import plain_thread
    from penstock.schedule import upkeep

    monkeypatch.setattr(upkeep, "REFRESHES", 20)
    ps.create_stream_table("bag", "SELECT id, v FROM src WHERE v >= 0")
    work = upkeep.Upkeep(ps._warehouse, plain_thread)
    assert work.lay_out() == []
    for number in range(40):
        ps.sql(f"INSERT INTO src VALUES ({number}, 1, 1)")
        ps.refresh("bag")
    before = ps.versions("bag", 1)[0]
    assert work.lay_out() == ["shop.bag"]
    assert work.lay_out() == [], "it has just been looked at"
    assert ps.versions("bag", 1)[0] == before, "no row changed"
    assert_exact(ps, "bag")


def test_looking_starts_no_spark(ps: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    ps.create_stream_table("groups", GROUPS, "1 minute")

    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("penstock.api.open_warehouse.start_session", started)
    with penstock.open_lazily(ps.path) as seen:
        assert [row.name for row in seen.status()] == ["shop.groups"]
        assert seen.history("shop.groups")[0].action == "FULL"
        assert seen.versions("shop.groups")[0].sources == {"shop.src": 1}
        assert seen.diagnose("shop.groups").name == "shop.groups"
        assert seen.stats()[0].refresh_count == 1
        assert seen.health().catalog
        with pytest.raises(AssertionError, match="Spark was started"):
            seen.start()
