"""Views: what any SQL client sees of the catalog, the same in every database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from places import Place

from penstock.catalog import Action, RefreshRecord, RefreshStatus, Status
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.names import Frontier

MINUTE = timedelta(minutes=1)


def test_the_eight_counters_stand_beside_the_name(
    catalog: SqlCatalog,
    place: Place,
    add: Callable[..., int],
    record: Callable[..., RefreshRecord],
    now: datetime,
) -> None:
    a = add("sales.a")
    add("b")
    lag = Frontier.of({"o": 1}, now - MINUTE)
    done = record(
        "r",
        a,
        status=RefreshStatus.COMPLETED,
        ended_at=now + MINUTE,
        rows_inserted=3,
        rows_deleted=1,
        from_frontier=lag,
    )
    catalog.record_refresh(done)
    catalog.record_refresh(record("s", a, action=Action.SKIP, status=RefreshStatus.SKIPPED, ended_at=now))
    catalog.record_refresh(record("f", a, status=RefreshStatus.FAILED, ended_at=now))
    columns = (
        "name, schema, refresh_count, total_refresh_duration_ms, rows_inserted_total, rows_deleted_total, skip_count,"
        " error_count, last_lag_ms, max_lag_ms"
    )
    assert place.sql(f"SELECT {columns} FROM pg_stat_stream_tables ORDER BY name") == [
        ("a", "sales", 1, 60_000, 3, 1, 1, 1, 120_000, 120_000),
        ("b", "default", 0, 0, 0, 0, 0, 0, 0, 0),
    ]


def test_the_lag_is_that_of_the_moment_at_which_one_looks(
    catalog: SqlCatalog, place: Place, add: Callable[..., int]
) -> None:
    stamp = catalog.now() - 10 * MINUTE
    add("late", data_timestamp=stamp, target_lag=MINUTE, status=Status.ACTIVE)
    add("fine", data_timestamp=stamp, target_lag=60 * MINUTE)
    add("downstream", data_timestamp=stamp)
    add("never")
    found = {
        name: rest
        for name, *rest in place.sql(
            "SELECT name, current_lag_seconds, lag_exceeded, target_lag_seconds, status FROM stream_tables_info"
        )
    }
    assert found["late"][0] == pytest.approx(600, abs=30)
    assert found["late"][1:] == [1, 60.0, "ACTIVE"]
    assert found["fine"][1] == found["downstream"][1] == 0
    assert found["never"][:2] == [None, 0]


def test_history_gives_seconds_and_the_graph_gives_sources(
    catalog: SqlCatalog,
    place: Place,
    add: Callable[..., int],
    record: Callable[..., RefreshRecord],
    now: datetime,
) -> None:
    a = add("a", "orders", "items")
    line = record("r", a)
    catalog.start_refresh(line)
    history = "SELECT name, schema, refresh_id, action, status, seconds, error_message FROM stream_table_refreshes"
    assert place.sql(history) == [("a", "default", "r", "INCREMENTAL", "RUNNING", None, None)]
    ended = now + timedelta(milliseconds=1500)
    catalog.finish_refresh(replace(line, status=RefreshStatus.FAILED, ended_at=ended, error_message="boom"))
    ((*_, seconds, message),) = place.sql(history)
    assert (seconds, message) == (pytest.approx(1.5, abs=0.001), "boom")
    assert place.sql("SELECT name, source_name, source_type FROM stream_table_graph ORDER BY source_name") == [
        ("a", "default.items", "TABLE"),
        ("a", "default.orders", "TABLE"),
    ]
