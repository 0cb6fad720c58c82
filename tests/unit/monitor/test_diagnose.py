"""Every finding of a diagnosis, from gathered facts alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.api import open_lazily
from penstock.catalog.model import (
    Action,
    Dependency,
    Lease,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    SourceType,
    Status,
    StreamTableMeta,
)
from penstock.errors import DiskFull, InternalError, QueryFailed, QueryInvalid, SourceMissing
from penstock.layout.retention import Holding
from penstock.monitor.diagnose.case import Case, PendingSource
from penstock.monitor.diagnose.diagnosis import diagnose
from penstock.monitor.diagnose.findings import Finding
from penstock.names import TableName

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
SCHEDULER = Lease(0, 1, "host:42", NOON + MINUTE, NOON)


def meta(**facts: Any) -> StreamTableMeta:
    base = StreamTableMeta(
        name=TableName("shop", "st"),
        table_id="t",
        path="/w/st",
        query="…",
        definition_hash="h",
        status=Status.ACTIVE,
        data_timestamp=NOON - timedelta(seconds=24),
        effective_mode=RefreshMode.INCREMENTAL,
    )
    return replace(base, **facts)


def case(held: StreamTableMeta | None = None, **facts: Any) -> Case:
    return Case(**{"meta": held or meta(), "now": NOON, "allowed": MINUTE, "scheduler": SCHEDULER, **facts})


def late(**facts: Any) -> StreamTableMeta:
    return meta(data_timestamp=NOON - HOUR, **facts)


def record(status: RefreshStatus, seconds: float = 1, **facts: Any) -> RefreshRecord:
    return RefreshRecord(
        refresh_id="r",
        stream_table_id=1,
        name="shop.st",
        action=Action.INCREMENTAL,
        status=status,
        started_at=NOON,
        ended_at=NOON + timedelta(seconds=seconds),
        **facts,
    )


def test_a_fresh_table_says_why_it_can_be_trusted() -> None:
    told = diagnose(case())
    assert (told.fresh, told.verdict) == (True, "FRESH, 24 seconds behind, 1 minute allowed")
    assert [each.code for each in told.findings] == ["TRUSTED"]
    assert "AUDIT" in told.findings[0].advice


@pytest.mark.parametrize("status", [Status.ERROR, Status.SUSPENDED])
def test_one_that_is_stopped_is_at_risk_while_its_lag_lasts(status: Status) -> None:
    told = diagnose(case(meta(status=status)))
    assert (told.fresh, told.at_risk, told.verdict) == (True, True, "AT RISK, 24 seconds behind, 1 minute allowed")
    assert not diagnose(case(scheduler=None)).at_risk


NO_SPACE = str(DiskFull(name="shop.st", why="No space left on device"))
ZERO = str(QueryFailed(name="shop.st", why="[DIVIDE_BY_ZERO] Division by zero."))
NO_COLUMN = str(QueryInvalid(why="gone cannot be resolved", fix="Mend the query."))
BUG = str(InternalError(why="KeyError: 'x'"))
GONE = str(SourceMissing(source="orders", why="there is no Delta log"))
HELD = Holding("shop.st", "orders", "/o", 1, 2, NOON - 23 * HOUR, NOON - 23 * HOUR, 30 * 24 * HOUR, 24 * HOUR)


@pytest.mark.parametrize(
    ("looked_at", "code", "says", "advises"),
    [
        pytest.param(case(late(status=Status.SUSPENDED)), "SUSPENDED", "by hand", "RESUME", id="suspended by hand"),
        pytest.param(
            case(late(status=Status.SUSPENDED, consecutive_errors=3, last_error=GONE)),
            "SUSPENDED",
            "after 3 errors in a row, the last: [SOURCE_MISSING] source orders is gone",
            "Bring the source back",
            id="suspended by errors",
        ),
        pytest.param(
            case(late(status=Status.SUSPENDED, consecutive_errors=1, last_error=BUG)),
            "SUSPENDED",
            "by a bug in Penstock",
            "report",
            id="suspended by a bug",
        ),
        pytest.param(
            case(late(status=Status.ERROR, last_error=ZERO)), "ERROR", "DIVIDE_BY_ZERO", "Mend the data", id="error"
        ),
        pytest.param(
            case(late(status=Status.ERROR, last_error=NO_COLUMN), sources=(PendingSource("orders", 3),)),
            "ERROR",
            "gone cannot be resolved",
            "No new rows mend that: its definition has to change, or the columns of orders. To try now: REFRESH",
            id="error that is not of the rows",
        ),
        pytest.param(case(late(), paused=True), "PAUSED", "paused", "by hand", id="paused"),
        pytest.param(case(late(), enabled=False), "DISABLED", "enabled is false", "PENSTOCK_ENABLED", id="disabled"),
        pytest.param(case(late(), scheduler=None), "NO_SCHEDULER", "no scheduler", "penstock run", id="no scheduler"),
        pytest.param(
            case(late(), sources=(PendingSource("orders", 3, missing="there is no Delta log"),)),
            "SOURCE_MISSING",
            "orders: there is no Delta log",
            "Bring the source back",
            id="source missing",
        ),
        pytest.param(
            case(late(), history=(record(RefreshStatus.FAILED, error_message=NO_SPACE),) * 2),
            "BACKING_OFF",
            "the last 2 tries failed, though neither query nor data are at fault: [DISK_FULL]",
            "Make room",
            id="backing off",
        ),
        pytest.param(
            case(late(), history=(record(RefreshStatus.COMPLETED, 50),) * 3),
            "TOO_SLOW",
            "a refresh takes 50 seconds, too long for a lag of 1 minute",
            "SET TARGET LAG",
            id="too slow",
        ),
        pytest.param(
            case(late(), rebuild=("FOREIGN_WRITE", "WRITE at version 7 changed stored rows")),
            "FOREIGN_WRITE",
            "another writer changed its storage",
            "/w/st",
            id="foreign write",
        ),
        pytest.param(
            case(late(), storage_lost="there is no Delta log"), "STORAGE_MISSING", "no Delta log", "drop", id="storage"
        ),
        pytest.param(case(late(), holdings=(HELD,)), "RETENTION", "in 1 hour", "Refresh it before", id="retention"),
        pytest.param(
            case(late(), sources=(PendingSource("orders", 1, 2, 5_000_000),)),
            "MANY_PENDING",
            "5,000,000 change rows wait in orders (version 1 → 2)",
            "longer",
            id="many changes",
        ),
        pytest.param(case(meta(data_timestamp=None)), "NEVER_FILLED", "without rows", "REFRESH", id="never filled"),
    ],
)
def test_the_cause_comes_first_and_says_what_to_do(looked_at: Case, code: str, says: str, advises: str) -> None:
    told = diagnose(looked_at)
    assert not told.fresh
    first = told.findings[0]
    assert (first.code, first.serious) == (code, True)
    assert says in first.text
    assert advises in first.advice


def test_the_root_cause_upstream_is_named() -> None:
    root = case(meta(name=TableName("shop", "a"), status=Status.ERROR, last_error=ZERO))
    middle = case(late(name=TableName("shop", "b")), upstreams=(root,))
    told = diagnose(case(late(), upstreams=(case(meta(name=TableName("shop", "fine"))), middle)))
    assert told.findings[0].code == "UPSTREAM_BLOCKED"
    assert told.findings[0].text.startswith("it waits for shop.b, which waits for shop.a: its last refresh failed")
    assert "REFRESH STREAM TABLE shop.a" in told.findings[0].advice


def test_changes_that_an_upstream_has_not_taken_over_are_changes() -> None:
    upstream = case(meta(name=TableName("shop", "a"), status=Status.SUSPENDED), quiet=True)
    assert "no source has changed" in diagnose(case(late(), quiet=True, upstreams=(upstream,))).verdict
    behind = replace(upstream, quiet=False)
    assert "no source has changed" not in diagnose(case(late(), quiet=True, upstreams=(behind,))).verdict


def test_a_rebuild_that_the_query_may_not_survive_says_so() -> None:
    told = diagnose(case(rebuild=("SOURCE_CHANGED", "column a was renamed to b"), sources=(PendingSource("o", 1, 2),)))
    assert [each.code for each in told.findings] == ["REBUILD"], "a version without rows is nothing that waits"
    assert "ALTER STREAM TABLE shop.st AS …" in told.findings[0].advice


@pytest.mark.parametrize(
    ("looked_at", "code", "says"),
    [
        pytest.param(
            case(lease=Lease(1, 2, "host:7", NOON + MINUTE, NOON), history=(record(RefreshStatus.RUNNING),)),
            "RUNNING",
            "host:7 is refreshing it",
            id="running",
        ),
        pytest.param(
            case(refusal=("NON_DETERMINISTIC", "rand", "Leave it out of the query.")),
            "ALWAYS_FULL",
            "NON_DETERMINISTIC",
            id="always full",
        ),
        pytest.param(case(rebuild=("VIEW_CHANGED", "view v was redefined")), "REBUILD", "VIEW_CHANGED", id="rebuild"),
        pytest.param(case(scheduler=None), "NO_SCHEDULER", "no scheduler", id="no scheduler yet"),
        pytest.param(case(foreign=("OPTIMIZE at version 3",)), "FOREIGN_LAYOUT", "OPTIMIZE", id="optimised by others"),
        pytest.param(case(opaque=("score",)), "OPAQUE_FUNCTION", "score", id="a function that cannot be read"),
        pytest.param(
            case(sources=(PendingSource("orders", 1, 2, 5),)), "PENDING", "5 change rows wait in orders", id="pending"
        ),
        pytest.param(
            case(sources=(PendingSource("orders", 1, 2, 1),)), "PENDING", "1 change row waits in orders", id="one row"
        ),
    ],
)
def test_what_is_good_to_know_does_not_make_it_stale(looked_at: Case, code: str, says: str) -> None:
    told = diagnose(looked_at)
    assert told.fresh
    [finding] = [each for each in told.findings if each.code == code]
    assert not finding.serious
    assert says in finding.text


def test_an_old_success_ends_the_back_off() -> None:
    failed, done = record(RefreshStatus.FAILED, error_message=NO_SPACE), record(RefreshStatus.COMPLETED)
    assert "BACKING_OFF" not in [each.code for each in diagnose(case(history=(done, failed))).findings]


def test_it_is_plain_data() -> None:
    told = diagnose(case(late(status=Status.SUSPENDED))).to_json()
    assert (told["name"], told["fresh"], told["findings"][0]["code"]) == ("shop.st", False, "SUSPENDED")
    assert told["verdict"] == "STALE, 1 hour behind, 1 minute allowed"


def test_rows_that_nobody_changed_are_not_stale_however_old() -> None:
    told = diagnose(case(late(), quiet=True, scheduler=None))
    assert (told.fresh, told.at_risk) == (True, False)
    assert told.verdict == "FRESH, no source has changed since it was refreshed, 1 hour ago"
    suspended = diagnose(case(late(status=Status.SUSPENDED), quiet=True))
    assert (suspended.fresh, suspended.at_risk) == (True, True)
    assert suspended.verdict.startswith("AT RISK, no source has changed")


def test_a_source_whose_log_is_damaged_need_not_be_brought_back(tmp_path: Path) -> None:
    log = tmp_path / "orders" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text('{"commitInfo": {"times')
    with open_lazily(tmp_path / "w") as tables:
        catalog = tables._warehouse.catalog
        for name in ("orders", "gone"):
            reads = Dependency(
                source_id=name, source_name=name, source_type=SourceType.TABLE, source_path=str(tmp_path / name)
            )
            held = replace(meta(), name=TableName("shop", f"of_{name}"), table_id=name, path=f"/w/{name}")
            catalog.insert(held, [reads], now=catalog.now())

        def told(name: str) -> Finding:
            return next(each for each in tables.diagnose(name).findings if each.code == "SOURCE_MISSING")

        assert "cannot be read" in told("shop.of_orders").text
        assert told("shop.of_orders").advice.startswith("The stored rows stay as they were. Check network and storage")
        assert told("shop.of_gone").advice.startswith("Bring the source back")
