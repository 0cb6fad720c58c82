"""The page that Prometheus scrapes, read by Prometheus' own parser, over HTTP; and the pages beside it."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake
from monitored import NOON, Add, alert, ended
from prometheus_client.parser import text_string_to_metric_families
from pyarrow import table

from penstock.catalog import SCHEDULER, Action, AlertEvent, RefreshStatus, SqliteCatalog, Status
from penstock.engine.run.workspace import Logs
from penstock.errors import CatalogError
from penstock.monitor.http import Page, Server, serve
from penstock.monitor.monitor import Monitor
from penstock.names import Frontier
from penstock.settings import Settings

FILLED = {"is_populated": True, "status": Status.ACTIVE, "data_timestamp": NOON, "frontier": Frontier.of({}, NOON)}


class Samples(dict[tuple[str, tuple[str, ...]], float]):
    """By name and values of labels, in whatever order."""

    def __getitem__(self, key: tuple[str, tuple[str, ...]]) -> float:
        return super().__getitem__((key[0], tuple(sorted(key[1]))))


@pytest.fixture
def monitor(catalog: SqliteCatalog) -> Iterator[Monitor]:
    made = Monitor(catalog, Settings, Logs(), lambda: NOON + timedelta(seconds=30), "penstock:/warehouse")
    yield made
    made.close()


@pytest.fixture
def server(monitor: Monitor) -> Iterator[Server]:
    with monitor.serve() as made:
        yield made


def get(server: Server, path: str) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(server.url + path, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def samples(server: Server) -> Samples:
    status, kind, text = get(server, "/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = Samples()
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.values()))
            assert key not in found, "a sample is there twice"
            found[key] = sample.value
    return found


REVENUE = ("default.revenue",)


def test_what_the_catalog_says(catalog: SqliteCatalog, add: Add, server: Server) -> None:
    number = add("revenue", **FILLED)
    done = {"rows_inserted": 7, "rows_deleted": 3}
    catalog.record_refresh(ended(number, 1, 2.0, **done))
    catalog.record_refresh(ended(number, 2, 3.0, **done))
    catalog.record_refresh(ended(number, 3, 0.0, action=Action.SKIP, status=RefreshStatus.SKIPPED))
    catalog.record_failure(number, "boom", now=NOON)
    catalog.acquire_lease(SCHEDULER, "host:1:x", timedelta(minutes=1), now=catalog.now())
    seen = samples(server)
    assert seen["penstock_catalog_up", ()] == 1
    assert seen["penstock_lag_seconds", REVENUE] == 30
    assert seen["penstock_target_lag_seconds", REVENUE] == 60
    assert seen["penstock_consecutive_errors", REVENUE] == 1
    assert [seen["penstock_stream_table_status", (*REVENUE, each.value)] for each in Status] == [0, 1, 0, 0]
    assert seen["penstock_stream_table_refresh_seconds_count", REVENUE] == 2
    assert seen["penstock_stream_table_refresh_seconds_sum", REVENUE] == 5
    assert seen["penstock_rows_inserted_total", REVENUE] == 14
    assert seen["penstock_rows_deleted_total", REVENUE] == 6
    assert seen["penstock_refresh_skips_total", REVENUE] == 1
    assert seen["penstock_scheduler_up", ()] == 1
    assert seen["penstock_scheduler_leader", ("host:1:x",)] == 1
    assert abs(seen["penstock_scheduler_heartbeat_timestamp_seconds", ()] - catalog.now().timestamp()) < 60
    assert seen["penstock_scheduler_paused", ()] == 0
    catalog.set_paused(True)
    assert samples(server)["penstock_scheduler_paused", ()] == 1


def test_what_this_process_did(catalog: SqliteCatalog, add: Add, monitor: Monitor, server: Server) -> None:
    number = add("revenue", **FILLED)
    monitor.observe(ended(number, 1, status=RefreshStatus.RUNNING, ended_at=None))
    monitor.observe(ended(number, 1, 0.2))
    monitor.observe(ended(number, 2, 7.0))
    monitor.observe(ended(number, 3, 1.0, action=Action.FULL, status=RefreshStatus.FAILED))
    monitor.tell(alert())
    monitor.tell(alert())
    seen = samples(server)
    assert seen["penstock_refreshes_total", (*REVENUE, "INCREMENTAL", "COMPLETED")] == 2
    assert seen["penstock_refreshes_total", (*REVENUE, "FULL", "FAILED")] == 1
    assert seen["penstock_refresh_duration_seconds_count", ("INCREMENTAL",)] == 2
    assert seen["penstock_refresh_duration_seconds_sum", ("INCREMENTAL",)] == 7.2
    assert seen["penstock_refresh_duration_seconds_bucket", ("INCREMENTAL", "0.25")] == 1
    assert seen["penstock_alerts_total", ("lag_exceeded",)] == 2
    assert {seen["penstock_alerts_total", (event.value,)] for event in AlertEvent} == {0, 2}
    assert seen["penstock_sink_failures_total", ("table",)] == 0


def test_waiting_changes_are_shown(catalog: SqliteCatalog, add: Add, server: Server, tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "orders"), table({"id": [1, 2]}))
    key = str(DeltaTable(str(tmp_path / "orders")).metadata().id)
    add("revenue", {key: str(tmp_path / "orders")}, **{**FILLED, "frontier": Frontier.of({key: 0}, NOON)})
    edge = (*REVENUE, f"default.{key}")
    assert samples(server)["penstock_pending_rows", edge] == 0
    write_deltalake(str(tmp_path / "orders"), table({"id": [3, 4, 5]}), mode="append")
    seen = samples(server)
    assert seen["penstock_pending_rows", edge] == 3
    assert seen["penstock_pending_commits", edge] == 1
    assert seen["penstock_pending_bytes", edge] > 0
    assert seen["penstock_pending_unreadable", edge] == 0


def test_sinks_that_fail_or_drop_are_seen(catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    # Held, so that nobody comes to listen there.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{held.getsockname()[1]}/"
        monitor = Monitor(
            catalog, lambda: Settings(alert_webhook_url=nobody), Logs(), lambda: NOON, "penstock:/warehouse"
        )
        fault = CatalogError(path="", why="", fix="")
        monkeypatch.setattr(catalog, "record_alert", lambda _: (_ for _ in ()).throw(fault))
        monitor.tell(alert())
        monitor.close()
    monitor.tell(alert())
    with monitor.serve() as server:
        seen = samples(server)
    assert seen["penstock_sink_failures_total", ("table",)] == 2
    assert seen["penstock_sink_failures_total", ("webhook",)] == 1
    assert seen["penstock_sink_dropped_total", ("webhook",)] == 1


def test_a_catalog_that_does_not_answer(
    catalog: SqliteCatalog, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise CatalogError(path=catalog.path, why="disk I/O error", fix="Look at the disk.")

    assert get(server, "/ready")[0] == 200
    monkeypatch.setattr(catalog, "get_all", fail)
    seen = samples(server)
    assert seen["penstock_catalog_up", ()] == 0
    assert not any(name == "penstock_lag_seconds" for name, _ in seen)
    assert get(server, "/ready")[0] == 503
    status, _, text = get(server, "/health")
    assert status == 503
    assert json.loads(text)["catalog"] is False
    status, _, text = get(server, "/status")
    assert status == 500
    assert "disk I/O error" in json.loads(text)["error"]


def test_health_and_status_pages(catalog: SqliteCatalog, add: Add, server: Server) -> None:
    number = add("revenue", **FILLED)
    status, kind, text = get(server, "/health")
    assert (status, kind) == (200, "application/json; charset=utf-8")
    assert json.loads(text)["healthy"] is True
    (shown,) = json.loads(get(server, "/status")[2])["stream_tables"]
    assert (shown["name"], shown["current_lag"]) == ("default.revenue", 30.0)
    catalog.update_status(number, Status.ERROR, now=NOON)
    status, _, text = get(server, "/health?verbose=1")
    assert status == 503
    assert json.loads(text)["error"] == ["default.revenue"]
    assert get(server, "/ready")[0] == 200


def test_a_refresh_does_not_fail_for_having_been_counted(
    catalog: SqliteCatalog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(lineage_url=f"file://{tmp_path}/lineage.jsonl")
    monitor = Monitor(catalog, lambda: settings, Logs(), lambda: NOON, "penstock:/warehouse")
    monitor.observe(ended(4711, status=RefreshStatus.RUNNING, ended_at=None))
    monitor.close()
    assert "there is no stream table" in caplog.text


def test_closing_closes_the_servers(catalog: SqliteCatalog) -> None:
    monitor = Monitor(catalog, Settings, Logs(), lambda: NOON, "penstock:/warehouse")
    server = monitor.serve()
    assert get(server, "/ready")[0] == 200
    monitor.close()
    with pytest.raises(urllib.error.URLError):
        get(server, "/ready")
    server.close()


def test_a_path_that_is_not_there_names_those_that_are(server: Server) -> None:
    status, _, text = get(server, "/nothing")
    assert status == 404
    assert json.loads(text)["paths"] == ["/health", "/metrics", "/ready", "/status"]


def test_a_closed_server_lets_go_of_its_port() -> None:
    # Somebody else may be given the port as soon as it is free, but not each time.
    for left in (2, 1, 0):
        server = serve({"/": lambda: Page.of({})})
        with pytest.raises(OSError, match="in use"):
            serve({}, port=server.port)
        assert get(server, "/")[0] == 200
        server.close()
        try:
            again = serve({"/": lambda: Page.of({})}, port=server.port)
            break
        except OSError:
            if not left:
                raise
    with again:
        assert get(again, "/")[0] == 200
