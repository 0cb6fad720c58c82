"""Healthy means that nobody has to look; everything else says what to look at."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from monitored import NOON, Add

from penstock.catalog import SCHEDULER, SqliteCatalog, Status
from penstock.errors import CatalogError
from penstock.monitor.health import Health, health
from penstock.names import Frontier

SECOND = timedelta(seconds=1)
FILLED = {"is_populated": True, "status": Status.ACTIVE, "data_timestamp": NOON, "frontier": Frontier.of({}, NOON)}


def look(catalog: SqliteCatalog, after: int = 30) -> Health:
    return health(catalog, NOON + after * SECOND, 60 * SECOND)


def test_an_empty_warehouse_is_healthy(catalog: SqliteCatalog) -> None:
    seen = look(catalog)
    assert seen.healthy
    assert seen.scheduler.holder is None


def test_late_is_twice_the_target(catalog: SqliteCatalog, add: Add) -> None:
    add("revenue", **FILLED)
    assert look(catalog, 120).healthy
    late = look(catalog, 121)
    assert not late.healthy
    assert late.lag_exceeded == ("default.revenue",)
    assert late.problems == ("default.revenue is older than twice its target lag",)


def test_rows_that_nobody_changed_are_not_late(catalog: SqliteCatalog, add: Add) -> None:
    for name in ("revenue", "idle"):
        add(name, **FILLED)
    seen = health(
        catalog, NOON + 9000 * SECOND, 60 * SECOND, unchanged=lambda *_: lambda meta: meta.name.table == "idle"
    )
    assert seen.lag_exceeded == ("default.revenue",)
    assert seen.problems == ("default.revenue is older than twice its target lag",)


def test_a_late_table_says_whom_it_waits_for(catalog: SqliteCatalog, add: Add) -> None:
    wrong = add("wrong", **FILLED)
    add("reader", {"id-wrong": "/warehouse/wrong"}, **FILLED)
    catalog.update_status(wrong, Status.SUSPENDED, now=NOON)
    assert look(catalog, 121).problems == (
        "default.reader is older than twice its target lag: it waits for default.wrong",
    )


def test_what_errors_stopped_is_a_problem_and_what_a_person_suspended_is_not(catalog: SqliteCatalog, add: Add) -> None:
    by_hand, by_errors, wrong = add("by_hand", **FILLED), add("by_errors", **FILLED), add("wrong", **FILLED)
    catalog.update_status(by_hand, Status.SUSPENDED, now=NOON)
    assert look(catalog, 90).healthy
    catalog.record_failure(by_errors, "disk full", now=NOON)
    catalog.update_status(by_errors, Status.SUSPENDED, now=NOON)
    catalog.record_failure(wrong, "no such column\n  Mend the query.", now=NOON)
    catalog.update_status(wrong, Status.ERROR, now=NOON)
    seen = look(catalog, 9000)
    assert seen.error == ("default.wrong",)
    assert seen.suspended == ("default.by_errors", "default.by_hand")
    assert seen.problems == (
        "default.by_errors was stopped: disk full",
        "default.wrong was stopped: no such column",
    )


def test_a_scheduler_that_died_is_a_problem(catalog: SqliteCatalog) -> None:
    now = catalog.now()
    alive = catalog.acquire_lease(SCHEDULER, "host:1:x", 60 * SECOND, now=now)
    assert look(catalog).scheduler.alive
    assert look(catalog).healthy
    catalog.release_lease(alive)
    assert look(catalog).healthy
    catalog.acquire_lease(SCHEDULER, "host:1:x", 5 * SECOND, now=now - 60 * SECOND)
    dead = look(catalog)
    assert not dead.scheduler.alive
    assert dead.problems[0].startswith("the scheduler host:1:x was last heard of at ")


def test_a_paused_catalog_is_told_of(catalog: SqliteCatalog) -> None:
    catalog.set_paused(True)
    assert look(catalog).scheduler.paused
    assert look(catalog).healthy


def test_a_catalog_that_does_not_answer(catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise CatalogError(path=catalog.path, why="disk I/O error", fix="Look at the disk.")

    monkeypatch.setattr(catalog, "get_all", fail)
    seen = look(catalog)
    assert not seen.catalog
    assert "disk I/O error" in seen.problems[0]


def test_it_is_json(catalog: SqliteCatalog, add: Add) -> None:
    add("revenue", **FILLED)
    catalog.acquire_lease(SCHEDULER, "host:1:x", 60 * SECOND, now=catalog.now())
    told = json.loads(json.dumps(look(catalog, 500).to_json()))
    assert told["healthy"] is False
    assert told["scheduler"]["alive"] is True
    assert told["lag_exceeded"] == ["default.revenue"]
