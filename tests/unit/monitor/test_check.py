"""What the scheduler's loop calls: every few seconds a look, nothing to wait for, nothing told twice."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest
from monitored import NOON, Add

from penstock.catalog import SqliteCatalog, Status
from penstock.engine.run.workspace import Logs
from penstock.monitor.monitor import Monitor
from penstock.names import Frontier
from penstock.settings import Settings

SECOND = timedelta(seconds=1)


class Clock:
    """A clock that stands where it was put."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


def monitor(catalog: SqliteCatalog, clock: Clock) -> Monitor:
    return Monitor(catalog, Settings, Logs(), clock.now, "penstock:/warehouse")


def check(which: Monitor, clock: Clock, after: float) -> None:
    clock.at = NOON + after * SECOND
    which.check()
    deadline = time.monotonic() + 60
    while which._checks._waiting:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def events(catalog: SqliteCatalog) -> list[str]:
    return [alert.event.value for alert in reversed(catalog.recent_alerts())]


def test_a_look_every_few_seconds(catalog: SqliteCatalog, add: Add, clock: Clock) -> None:
    add("revenue", is_populated=True, status=Status.ACTIVE, data_timestamp=NOON, frontier=Frontier.of({}, NOON))
    one = monitor(catalog, clock)
    check(one, clock, 119)
    # Too soon after the last look to be one.
    check(one, clock, 121)
    one._checks.close()
    assert events(catalog) == []
    two = monitor(catalog, clock)
    check(two, clock, 125)
    two.close()
    assert events(catalog) == ["lag_exceeded"]
    one.close()


def test_who_comes_back_reads_what_another_has_told(catalog: SqliteCatalog, add: Add, clock: Clock) -> None:
    add("revenue", is_populated=True, status=Status.ACTIVE, data_timestamp=NOON, frontier=Frontier.of({}, NOON))
    mine, other = monitor(catalog, clock), monitor(catalog, clock)
    check(mine, clock, 100)
    check(other, clock, 130)
    other.close()
    check(mine, clock, 200)
    mine.close()
    assert events(catalog) == ["lag_exceeded"]


def test_a_catalog_that_fails_is_logged_and_nothing_is_raised(
    catalog: SqliteCatalog, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(catalog, "get_all", lambda: 1 / 0)
    one = monitor(catalog, clock)
    check(one, clock, 0)
    one.close()
    assert "alert-check fails: ZeroDivisionError" in caplog.text
