"""What the logs and the lags say reaches people: waiting changes, ending retention, lags that cost too much."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from monitored import NOON, Add

from penstock.api import open_lazily
from penstock.catalog import Alert, AlertEvent, Dependency, SourceType, SqliteCatalog, Status, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.catalog.writer import CatalogWriter
from penstock.engine.run.workspace import Logs
from penstock.monitor.monitor import Monitor
from penstock.monitor.views import views_in
from penstock.names import Frontier, TableName
from penstock.settings import Settings
from penstock.testing.published import Published


def look(catalog: CatalogWriter, now: datetime, **settings: Any) -> None:
    """What the scheduler's loop does once."""
    held = Settings(**settings)
    monitor = Monitor(catalog, lambda: held, Logs(), lambda: now, "penstock:/warehouse")
    monitor.check()
    monitor.close()


def told(catalog: CatalogReader, event: AlertEvent) -> list[Alert]:
    return [alert for alert in catalog.recent_alerts() if alert.event is event]


def orders(folder: Path, rows: int, **properties: str) -> str:
    """A source with some more rows."""
    table = pa.table({"id": list(range(rows))})
    write_deltalake(str(folder), table, mode="append", configuration=properties or None)
    return str(DeltaTable(str(folder)).metadata().id)


def test_changes_that_wait_are_told_of_once(catalog: SqliteCatalog, add: Add, tmp_path: Path) -> None:
    source = orders(tmp_path / "orders", 1)
    stands = {"is_populated": True, "status": Status.ACTIVE, "data_timestamp": NOON}
    add("revenue", {source: str(tmp_path / "orders")}, frontier=Frontier.of({source: 0}, NOON), **stands)
    orders(tmp_path / "orders", 10)
    look(catalog, NOON, buffer_warning_rows=10)
    assert told(catalog, AlertEvent.BUFFER_LAG_WARNING) == []
    orders(tmp_path / "orders", 1)
    for _ in range(2):
        look(catalog, NOON, buffer_warning_rows=10)
    (alert,) = told(catalog, AlertEvent.BUFFER_LAG_WARNING)
    assert (alert.stream_table, alert.facts["pending_rows"], alert.facts["pending_commits"]) == (
        "default.revenue",
        11,
        2,
    )


def test_a_source_that_is_about_to_be_cleaned_is_told_of_once(tmp_path: Path) -> None:
    kept = {"delta.logRetentionDuration": "interval 4 hours"}
    with Published.open(tmp_path / "w") as world:
        catalog = world.tables._warehouse.catalog
        revenue = world.keyed("revenue", {"id": "long"}, key=("id",))
        for version in range(3):
            orders(tmp_path / "orders", 1, **(kept if version == 0 else {}))
        # Its frontier is at version 0 of orders, which has moved on.
        assert revenue.commit(put=[{"id": 1}]).frontier.version("orders") == 0
        (meta,) = catalog.get_all()
        reads = Dependency(
            source_id="orders", source_name="orders", source_type=SourceType.TABLE, source_path=str(tmp_path / "orders")
        )
        now = datetime.now(UTC)
        catalog.update_definition(meta.id, now=now, dependencies=[reads])
        look(catalog, now + timedelta(hours=2))
        assert told(catalog, AlertEvent.RETENTION_WARNING) == []
        for _ in range(2):
            look(catalog, now + timedelta(hours=3, minutes=5))
        (alert,) = told(catalog, AlertEvent.RETENTION_WARNING)
    assert (alert.stream_table, alert.facts["source"]) == ("default.revenue", "orders")
    assert alert.facts["retention_seconds"] == 4 * 3600


def test_changes_that_a_durable_subscription_may_lose_are_told_of_once(tmp_path: Path) -> None:
    with Published.open(tmp_path / "w") as world:
        catalog = world.tables._warehouse.catalog
        revenue = world.keyed("revenue", {"id": "long"}, key=("id",))
        for number in range(2):
            revenue.commit(put=[{"id": number}])
        world.tables.subscribe("revenue", lsn=1, durable="mailer").cancel()
        world.tables.subscribe("revenue", lsn=2, durable="level").cancel()
        now = datetime.now(UTC)
        # Delta keeps change files for 7 days by default; their time starts with the first change that is needed.
        look(catalog, now + timedelta(days=5))
        assert told(catalog, AlertEvent.RETENTION_WARNING) == []
        for _ in range(2):
            look(catalog, now + timedelta(days=5, hours=7))
        (alert,) = told(catalog, AlertEvent.RETENTION_WARNING)
    assert (alert.stream_table, alert.facts["source"]) == ("default.revenue", "subscription mailer")


def test_a_lag_that_costs_more_than_somebody_asked_for_is_shown(tmp_path: Path) -> None:
    with open_lazily(tmp_path) as tables:
        catalog = tables._warehouse.catalog
        for name, minutes, source in (("up", 10, "orders"), ("reader", 2, "up"), ("unread", None, "orders")):
            lag = None if minutes is None else timedelta(minutes=minutes)
            meta = StreamTableMeta(
                name=TableName.parse(name), table_id=name, path="", query="", definition_hash="", target_lag=lag
            )
            reads = Dependency(source_id=source, source_name=source, source_type=SourceType.TABLE)
            catalog.insert(meta, [reads], now=NOON)
        shown = {row.name: row.to_json()["warnings"] for row in tables.status()}
        assert shown == {
            "default.up": [],
            "default.reader": ["default.reader asks for 2 minutes, so default.up (10 minutes) is refreshed as often"],
            "default.unread": ["default.unread is DOWNSTREAM but nothing reads it: it is kept within 1 minute"],
        }
        assert tables.info("reader")[0]["warnings"] == shown["default.reader"]
        (view,) = views_in("SELECT * FROM penstock_status", catalog, NOON, timedelta(minutes=1))
        columns = [name for name, _ in view.columns]
        in_sql = [dict(zip(columns, row, strict=True)) for row in view.rows()]
        assert {row["name"]: row["warnings"] for row in in_sql} == shown
        assert {tuple(row["blocked_by"]) for row in in_sql} == {()}
        found = {each.code: each for each in tables.diagnose("unread").findings}["LAG"]
        assert (found.text, found.serious) == (shown["default.unread"][0], False)
        assert "ALTER STREAM TABLE default.unread SET TARGET LAG" in found.advice
        assert "LAG" not in {each.code for each in tables.diagnose("up").findings}
