"""What is written down of a refresh that failed, and who may write it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.catalog import Alert, RefreshMode, RefreshRecord, RefreshStatus, SqliteCatalog, Status, StreamTableMeta
from penstock.compile.reasons import link
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.errors import (
    FrontierLost,
    InternalError,
    LeaseLost,
    PenstockError,
    QueryInvalid,
    StateDamaged,
    StorageUnreachable,
)
from penstock.names import Frontier, TableName
from penstock.refresh.attempt import Attempt, Quiet
from penstock.refresh.graph_run import Skip
from penstock.refresh.lease import HeldLease
from penstock.refresh.record import Recorder
from penstock.refresh.stages.pin import Pins
from penstock.refresh.stages.survey import Surveyed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PINS = Pins({}, NOW)
BUG = InternalError(why="the JVM is gone")


class Book:
    """A recorder on a catalog with one stream table, and a refresh of it that has begun."""

    def __init__(self, catalog: SqliteCatalog) -> None:
        self.catalog = catalog
        self.told: list[Alert] = []
        self.recorder = Recorder(catalog, Logs(), lambda: NOW, self.told.append, lambda _: None)
        meta = StreamTableMeta(
            name=TableName.parse("revenue"),
            table_id="r",
            path="",
            query="",
            definition_hash="",
            status=Status.ACTIVE,
            is_populated=True,
            frontier=Frontier.of({"orders": 1}, NOW),
        )
        self.id = catalog.insert(meta, [], now=NOW)
        self.held = self.hold("elsewhere:1:abc")
        self.attempt = Attempt(catalog.get_by_id(self.id))
        self.recorder.started(self.attempt, PINS, self.held)

    def hold(self, holder: str, now: datetime = NOW) -> HeldLease:
        lease = self.catalog.acquire_lease(self.id, holder, MINUTE, now=now)
        return HeldLease(self.catalog, lease, MINUTE, lambda: now)

    def failed(self, error: PenstockError, most_errors: int = 3) -> None:
        self.recorder.failed(self.attempt, PINS, self.held, error, most_errors)

    def meta(self) -> StreamTableMeta:
        return self.catalog.get_by_id(self.id)

    def events(self) -> list[str]:
        return [alert.event.value for alert in self.told]


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        yield Book(catalog)


def test_an_error_stays_with_its_table_and_stops_it_where_trying_again_cannot_help(book: Book) -> None:
    book.failed(QueryInvalid(why="no such column", fix=""))
    assert (book.meta().status, book.meta().consecutive_errors) == (Status.ERROR, 1)
    assert "no such column" in (book.meta().last_error or "")
    assert book.events() == ["refresh_failed", "auto_suspended"]
    (line,) = book.catalog.recent_history()
    assert line.status is RefreshStatus.FAILED


def test_history_does_not_call_incremental_what_is_always_recomputed(book: Book) -> None:
    full = Attempt(replace(book.meta(), effective_mode=RefreshMode.FULL))
    book.recorder.started(full, PINS, book.held)
    assert [line.action for line in book.catalog.recent_history() if line.refresh_id == full.refresh_id] == ["FULL"]
    book.recorder.failed(full, PINS, book.held, QueryInvalid(why="no such column", fix=""), 3)
    (line,) = [line for line in book.catalog.recent_history() if line.refresh_id == full.refresh_id]
    assert (line.status, line.action) == (RefreshStatus.FAILED, "FULL")


def test_trying_by_hand_before_it_is_mended_does_not_suspend_what_is_in_error(book: Book) -> None:
    """A success would end ERROR; it would not end SUSPENDED."""
    for _ in range(3):
        book.attempt = Attempt(book.meta())
        book.recorder.started(book.attempt, PINS, book.held)
        book.failed(QueryInvalid(why="no such column", fix=""))
    assert (book.meta().status, book.meta().consecutive_errors) == (Status.ERROR, 3)
    assert book.events().count("auto_suspended") == 1


def test_countable_errors_suspend_when_there_are_too_many_in_a_row(book: Book) -> None:
    damaged = StateDamaged(name="revenue", why="a weight below zero")
    for status in (Status.ACTIVE, Status.ACTIVE, Status.SUSPENDED):
        book.attempt = Attempt(book.meta())
        book.recorder.started(book.attempt, PINS, book.held)
        book.failed(damaged, most_errors=3)
        assert book.meta().status is status
    suspended = book.told[-1]
    assert (suspended.event.value, suspended.facts["status"], suspended.facts["errors"]) == (
        "auto_suspended",
        "SUSPENDED",
        3,
    )
    assert "a weight below zero" in str(suspended.facts["last_error"])


def test_what_lies_with_a_source_waits_for_the_source_however_often_it_was_tried(book: Book) -> None:
    lost = FrontierLost(source="orders", version=1, why="its files are away")
    for status in (Status.ACTIVE, Status.ERROR, Status.ERROR):
        book.attempt = Attempt(book.meta())
        book.recorder.started(book.attempt, PINS, book.held)
        book.failed(lost, most_errors=2)
        assert book.meta().status is status


def test_what_a_person_suspended_stays_suspended_whatever_fails(book: Book) -> None:
    """Else it would come back by itself with the next rows of a source."""
    book.catalog.update_status(book.id, Status.SUSPENDED, now=NOW)
    book.failed(QueryInvalid(why="no such column", fix=""))
    assert (book.meta().status, book.meta().consecutive_errors) == (Status.SUSPENDED, 1)
    assert book.events() == ["refresh_failed"]


def test_the_same_failure_again_is_told_once_and_another_one_is_news(book: Book) -> None:
    for column in ("a", "a", "b"):
        book.attempt = Attempt(book.meta())
        book.recorder.started(book.attempt, PINS, book.held)
        book.failed(QueryInvalid(why=f"no column {column}", fix=""))
    assert book.events() == ["refresh_failed", "auto_suspended", "refresh_failed"]
    failed = [line for line in book.catalog.recent_history() if line.status is RefreshStatus.FAILED]
    assert len(failed) == 3


def test_a_bug_suspends_at_once(book: Book) -> None:
    book.failed(BUG)
    assert book.meta().status is Status.SUSPENDED
    assert book.events() == ["refresh_failed", "auto_suspended"]


def test_trouble_that_may_pass_is_told_of_and_not_counted(book: Book) -> None:
    book.failed(StorageUnreachable(name="orders", why="timed out"), most_errors=1)
    assert (book.meta().status, book.meta().consecutive_errors) == (Status.ACTIVE, 0)
    assert book.events() == ["refresh_failed"]


def test_who_lost_the_table_cannot_stop_it_nor_blame_it(book: Book) -> None:
    """A worker that slept, was succeeded, and wakes with its Spark gone."""
    book.hold("other:1:def", NOW + MINUTE)
    book.failed(BUG, most_errors=1)
    meta = book.meta()
    assert (meta.status, meta.consecutive_errors, meta.last_error) == (Status.ACTIVE, 0, None)
    assert book.events() == []
    # Its own line of history is its own.
    (line,) = book.catalog.recent_history()
    assert line.status is RefreshStatus.FAILED
    assert "the JVM is gone" in (line.error_message or "")


def test_who_lost_the_table_says_so_if_its_line_was_closed_meanwhile(book: Book) -> None:
    book.hold("other:1:def", NOW + MINUTE)
    book.catalog.close_orphans(now=NOW)
    with pytest.raises(LeaseLost, match="other:1:def"):
        book.failed(BUG)


def test_whether_somebody_is_at_a_quiet_table_goes_by_the_clock_of_the_catalog(book: Book) -> None:
    """A machine whose clock is a day ahead takes every lease for ended."""
    catalog = book.catalog
    catalog.release_lease(book.held.lease)
    catalog.acquire_lease(book.id, "elsewhere:1:abc", MINUTE, now=catalog.now())
    meta = book.meta()
    assert meta.frontier is not None
    after = Frontier.of({"orders": 1}, NOW + MINUTE)
    definition = Definition(
        id="r",
        name="default.revenue",
        query="",
        database="default",
        settings={},
        target_lag_seconds=60,
        refresh_mode="AUTO",
        key=(),
        columns=(),
        weighted=False,
        has_hidden_rows=False,
    )
    quiet = Quiet(Attempt(meta), Surveyed(definition, meta.frontier, after, {}, {}, None), meta.frontier, 1)
    ahead = Recorder(catalog, Logs(), lambda: catalog.now() + timedelta(days=1), book.told.append, lambda _: None)
    assert ahead.quiet([quiet]) == {}
    assert book.meta().frontier == meta.frontier


def test_a_skip_is_observed_as_every_other_end_is(book: Book) -> None:
    seen: list[RefreshRecord] = []
    recorder = Recorder(book.catalog, Logs(), lambda: NOW, book.told.append, seen.append)
    recorder.skipped(book.meta(), Skip("UPSTREAM_BLOCKED", "waiting for default.orders_clean"), NOW)
    assert [(each.status, each.reason) for each in seen] == [
        (RefreshStatus.SKIPPED, f"UPSTREAM_BLOCKED: waiting for default.orders_clean, see {link('UPSTREAM_BLOCKED')}")
    ]
