"""Alerts, views, lineage, logs and pages of a warehouse at work."""

from __future__ import annotations

import io
import json
import logging
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from warehouses import warehouse

import penstock
from penstock.catalog.model import Alert
from penstock.errors import PenstockError
from penstock.monitor.json_log import log_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

REVENUE = "SELECT region, sum(amount) AS total FROM orders GROUP BY region"


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamTables]:
    root = tmp_path_factory.mktemp("monitored")
    with warehouse(spark, root, "shop", lineage_url=f"file://{root}/lineage.jsonl") as ps:
        ps.sql("""
            CREATE TABLE orders (id INT, region STRING, amount INT);
            INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20)""")
        # An hour, so that none of them is late for as long as the tests take.
        ps.create_stream_table("revenue", REVENUE, "1 hour")
        ps.create_stream_table("top", "SELECT max(total) AS best FROM revenue", "1 hour")
        yield ps


def lineage(ps: StreamTables) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ps.path / "lineage.jsonl").read_text().splitlines()]


def test_a_statement_that_names_a_view_sees_the_catalog_of_that_moment(shop: StreamTables) -> None:
    (before,) = shop.sql("SELECT refresh_count FROM Penstock_Stats WHERE name = 'shop.revenue'").collect()
    frame = shop.sql("SELECT refresh_count FROM penstock_stats WHERE name = 'shop.revenue'")
    shop.sql("INSERT INTO orders VALUES (3, 'north', 1)")
    shop.refresh("top")
    assert frame.collect() == [before]
    (after,) = shop.sql("SELECT refresh_count FROM penstock_stats WHERE name = 'shop.revenue'").collect()
    assert after[0] == before[0] + 1
    joined = shop.sql("""
        SELECT s.name, s.status, h.action, h.rows_inserted, g.source_name, i.sources,
               i.data_timestamp = s.data_timestamp
        FROM penstock_status s JOIN penstock_history h USING (name) JOIN penstock_graph g USING (name)
        JOIN penstock_info i USING (name)
        WHERE s.name = 'shop.revenue'
          AND h.started_at = (SELECT max(started_at) FROM penstock_history WHERE name = s.name)
    """).collect()
    assert [tuple(row) for row in joined] == [
        ("shop.revenue", "ACTIVE", "INCREMENTAL", 1, "shop.orders", ["shop.orders"], True)
    ]
    assert not shop.spark.catalog.tableExists("penstock_stats")


def test_a_table_of_the_users_wins(shop: StreamTables) -> None:
    shop.sql("CREATE TABLE penstock_alerts AS SELECT 'mine' AS mine")
    try:
        assert [tuple(row) for row in shop.sql("SELECT * FROM penstock_alerts").collect()] == [("mine",)]
    finally:
        shop.sql("DROP TABLE penstock_alerts")
    shop.sql("CREATE TABLE kept AS SELECT name, count(*) AS alerts FROM penstock_alerts GROUP BY name")
    shop.sql("DROP TABLE kept")


def test_what_happens_is_told_kept_and_counted(shop: StreamTables) -> None:
    told: list[Alert] = []
    end = shop.on_alert(told.append)
    out = io.StringIO()
    logger = logging.getLogger("penstock")
    handler = log_to("json", out)
    try:
        shop.create_stream_table(
            "shares", "SELECT id, 100 DIV amount AS share FROM orders", "1 hour", refresh_mode="INCREMENTAL"
        )
        shop.sql("INSERT INTO orders VALUES (9, 'west', 0)")
        with pytest.raises(PenstockError):
            shop.refresh("shares")
        assert not shop.health().healthy
        shop.sql("DELETE FROM orders WHERE id = 9; ALTER STREAM TABLE shares RESUME")
        shop.refresh("shares")
        assert shop.health().healthy
        shop.sql("ALTER STREAM TABLE shares SUSPEND")
        shop.drop_stream_table("shares")
    finally:
        logger.removeHandler(handler)
        end()
    kept = [each.event.value for each in shop.alerts()]
    assert kept == ["resumed", "auto_suspended", "refresh_failed"]
    shown = {row.event: row.facts for row in shop.sql("SELECT event, facts FROM penstock_alerts").collect()}
    assert sorted(shown) == sorted(kept)
    assert json.loads(shown["auto_suspended"])["errors"] == 1
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    events = [line.get("event") for line in lines if line.get("stream_table") == "shop.shares"]
    assert events == [
        "refreshed",
        "refresh_failed",
        "refresh_failed",
        "auto_suspended",
        "resumed",
        "refreshed",
        "suspended",
        "dropped",
    ]
    assert all(line["refresh_id"] for line in lines if line.get("event") == "refreshed")
    # Functions are called on a thread of their own; closing the warehouse would wait for it.
    shop._monitor._callbacks.background.close()
    assert [each.event.value for each in told] == ["refresh_failed", "auto_suspended", "resumed"]


def test_another_query_and_another_mode_are_told(shop: StreamTables) -> None:
    shop.create_stream_table("regions", "SELECT DISTINCT region FROM orders")
    shop.create_stream_table("regions", "SELECT DISTINCT upper(region) AS region FROM orders", or_replace=True)
    (rebuilt,) = shop.alerts("regions")
    assert rebuilt.event.value == "reinitialize_needed"
    assert str(rebuilt.facts["change"]).startswith("the definition changed since the last refresh")
    shop.sql("ALTER STREAM TABLE regions SET REFRESH MODE FULL; INSERT INTO orders VALUES (7, 'up', 1)")
    shop.refresh("regions")
    changed = shop.alerts("regions", max_rows=1)[0]
    assert (changed.event.value, changed.facts["was"], changed.facts["is"]) == ("mode_changed", "INCREMENTAL", "FULL")
    assert str(changed.facts["reason"]).startswith("AS_ASKED: refresh mode FULL")
    shop.drop_stream_table("regions")


def test_every_refresh_is_a_run_of_the_lineage(shop: StreamTables) -> None:
    shop.sql("INSERT INTO orders VALUES (4, 'east', 5)")
    done = shop.refresh("top")
    shop._monitor._lineage.background.close()  # type: ignore[union-attr]
    runs: dict[str, list[dict[str, Any]]] = {}
    for event in lineage(shop):
        runs.setdefault(event["run"]["runId"], []).append(event)
    assert {tuple(event["eventType"] for event in run) for run in runs.values()} == {
        ("START", "COMPLETE"),
        ("START", "FAIL"),
    }
    newest = [run[-1] for run in runs.values()]
    top = next(event for event in reversed(newest) if event["job"]["name"] == "shop.top")
    revenue = next(event for event in reversed(newest) if event["job"]["name"] == "shop.revenue")
    assert done.frontier is not None
    own = top["run"]["facets"]["penstock_refresh"]
    assert own["frontier"] == done.frontier.to_json()
    assert (own["action"], own["rowsInserted"]) == (done.action.value, done.rows_inserted)
    # What one writes the other reads: same dataset, same version.
    (written,), (read,) = revenue["outputs"], top["inputs"]
    assert (written["namespace"], written["name"]) == (read["namespace"], read["name"])
    assert written["facets"]["version"]["datasetVersion"] == read["facets"]["version"]["datasetVersion"]
    assert written["facets"]["schema"]["fields"] == [
        {"name": "region", "type": "STRING"},
        {"name": "total", "type": "BIGINT"},
    ]
    assert written["outputFacets"]["outputStatistics"]["rowCount"] > 0


def test_pages_and_totals(shop: StreamTables) -> None:
    shop.sql("INSERT INTO orders VALUES (5, 'east', 5), (6, 'west', 7)")
    with shop.serve_metrics() as server:
        with urllib.request.urlopen(f"{server.url}/metrics", timeout=30) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        with urllib.request.urlopen(f"{server.url}/status", timeout=30) as answer:
            assert [row["name"] for row in json.load(answer)["stream_tables"]] == ["shop.revenue", "shop.top"]
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value for each in families for sample in each.samples
    }
    assert found["penstock_pending_rows", "shop.orders", "shop.revenue"] == 2
    assert found["penstock_pending_rows", "shop.revenue", "shop.top"] == 0
    assert found["penstock_refreshes_total", "COMPLETED", "INCREMENTAL", "shop.revenue"] >= 1
    totals = {row.name: row for row in shop.stats()}
    assert found["penstock_stream_table_refresh_seconds_count", "shop.revenue"] == totals["shop.revenue"].refresh_count
    assert totals["shop.revenue"].refresh_count > 0
    shop.reset_stats("revenue")
    assert {row.name: row.refresh_count > 0 for row in shop.stats()} == {"shop.revenue": False, "shop.top": True}


def test_rows_that_nobody_changed_are_right_however_old(shop: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Health, the alert, status and its view say what `diagnose` says."""
    shop.sql("CREATE VIEW seen AS SELECT id FROM orders")
    shop.create_stream_table("counted", "SELECT count(*) AS n FROM seen", "1 hour")
    shop.create_stream_table("by_clock", "SELECT id, current_date() AS today FROM orders", "1 hour")
    shop.refresh_all()
    late = shop._warehouse.now() + timedelta(days=1)
    monkeypatch.setattr(shop._warehouse, "now", lambda: late)
    monkeypatch.setattr(shop._monitor, "_now", lambda: late)

    def stale(ps: StreamTables) -> set[str]:
        rows = {row.name.removeprefix("shop."): row for row in ps.status()}
        found = {name for name, row in rows.items() if row.lag_exceeded}
        assert found == {name for name, row in rows.items() if not row.unchanged}
        assert found == {row["name"].removeprefix("shop.") for row in ps.info() if row["lag_exceeded"]}
        assert found == {name.removeprefix("shop.") for name in ps.health().lag_exceeded}
        return found

    def diagnosed() -> set[str]:
        names = ("revenue", "top", "counted", "by_clock")
        (held,) = shop.sql("SELECT collect_set(name) FROM penstock_status WHERE lag_exceeded").collect()
        found = {name for name in names if not shop.diagnose(name).fresh}
        assert {f"shop.{name}" for name in found} == set(held[0])
        return found

    # Files that were laid out anew are no change, and a day that has passed is one.
    shop.sql("OPTIMIZE orders")
    assert stale(shop) == diagnosed() == {"by_clock"}
    assert {each.stream_table for each in shop._monitor.judge(late)} == {"shop.by_clock"}
    shop.drop_stream_table("by_clock")
    assert shop.health().healthy
    with penstock.open_lazily(shop.path) as seen:
        monkeypatch.setattr(seen._warehouse, "now", lambda: late)
        monkeypatch.setattr(seen._monitor, "_now", lambda: late)
        # Without a session nobody knows whether the view is what it was.
        assert stale(seen) == {"counted"}
        assert not seen._warehouse.has_started
    shop.sql("INSERT INTO orders VALUES (7, 'north', 1)")
    assert {name for name in ("revenue", "top", "counted") if not shop.diagnose(name).fresh} == stale(shop)
    assert stale(shop) == {"revenue", "top", "counted"}
    shop.drop_stream_table("counted")


def test_looking_raises_alerts_once(shop: StreamTables) -> None:
    shop.refresh_all()
    shop.sql("INSERT INTO orders VALUES (8, 'north', 1)")
    late = shop._warehouse.now() + timedelta(hours=3)
    assert [(each.stream_table, each.event.value) for each in shop._monitor.judge(late)] == [
        ("shop.revenue", "lag_exceeded"),
        ("shop.top", "lag_exceeded"),
    ]
    assert shop._monitor.judge(late) == ()
    assert [each.event.value for each in shop.alerts("top")] == ["lag_exceeded"]
    shop.refresh("top")
    recovered = shop._monitor.judge(shop._warehouse.now())
    assert [each.event.value for each in recovered] == ["lag_recovered", "lag_recovered"]


def test_json_logs_by_setting(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("penstock")
    before = list(logger.handlers)
    try:
        with warehouse(spark, tmp_path, "logged", log_format="json") as ps:
            ps.sql("CREATE TABLE t AS SELECT 1 AS id")
            ps.create_stream_table("s", "SELECT id FROM t")
    finally:
        logger.handlers[:] = before
    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith('{"time"')]
    assert (line["stream_table"], line["event"]) == ("logged.s", "refreshed")
