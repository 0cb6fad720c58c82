"""History and counters: the row is there before the work, tells what really ran, and survives its worker's death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from places import Place
from test_leases import run_process

from penstock.catalog import Action, Counters, RefreshRecord, RefreshStatus, current_owner
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.errors import InternalError, LeaseLost, StreamTableNotFound
from penstock.names import Frontier, TableName

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


def test_every_field_survives(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a")
    running = RefreshRecord(
        refresh_id="r",
        stream_table_id=a,
        name="default.a",
        action=Action.INCREMENTAL,
        status=RefreshStatus.RUNNING,
        started_at=now,
    )
    catalog.start_refresh(running)
    assert catalog.recent_history() == [running]
    finished = replace(
        running,
        action=Action.FULL,
        status=RefreshStatus.COMPLETED,
        reason="COST",
        data_timestamp=now - SECOND,
        ended_at=now + SECOND,
        from_frontier=Frontier.of({"o": 1}, now - MINUTE),
        to_frontier=Frontier.of({"o": 2}, now - SECOND),
        commit_version=8,
        rows_inserted=1,
        rows_deleted=2,
        delta_rows=3,
        rows_read=4,
        rows_at_rest=7,
        rows_written=5,
        delta_bytes=30,
        bytes_read=40,
        bytes_at_rest=70,
        bytes_written=50,
        operators=("scan", "bag"),
        applier="delta-rs",
        timings={"pin": 0.25, "apply": 1.5},
        error_message="none",
        owner="me",
        lease_token=6,
    )
    catalog.finish_refresh(finished)
    assert catalog.recent_history() == [finished]


def test_newest_first_and_no_more_than_asked(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord]
) -> None:
    a, b = add("a"), add("b")
    # All start at the same moment, as under a clock that stands still.
    for number in range(4):
        catalog.start_refresh(record(f"r{number}", a if number % 2 == 0 else b))
    assert [line.refresh_id for line in catalog.recent_history()] == ["r3", "r2", "r1", "r0"]
    assert [line.refresh_id for line in catalog.recent_history(max_rows=1)] == ["r3"]
    assert [line.refresh_id for line in catalog.recent_history(TableName.parse("a"))] == ["r2", "r0"]
    with pytest.raises(StreamTableNotFound):
        catalog.recent_history(TableName.parse("missing"))


def test_counters_add_up_by_outcome(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    a = add("a")
    lags = (90 * SECOND, 40 * SECOND)
    for number, lag in enumerate(lags):
        line = record(f"done{number}", a)
        catalog.start_refresh(line)
        ended = now + timedelta(milliseconds=1500)
        catalog.finish_refresh(
            replace(
                line,
                status=RefreshStatus.COMPLETED,
                ended_at=ended,
                rows_inserted=3,
                rows_deleted=1,
                from_frontier=Frontier.of({"o": 1}, ended - lag),
            )
        )
    failed = record("failed", a)
    catalog.start_refresh(failed)
    catalog.finish_refresh(replace(failed, status=RefreshStatus.FAILED, ended_at=now + MINUTE, rows_inserted=99))
    catalog.record_refresh(record("skip", a, action=Action.SKIP, status=RefreshStatus.SKIPPED, ended_at=now))
    assert catalog.counters(a) == Counters(
        stream_table_id=a,
        refresh_count=2,
        total_refresh_duration_ms=3000,
        rows_inserted_total=6,
        rows_deleted_total=2,
        skip_count=1,
        error_count=1,
        last_lag_ms=40_000,
        max_lag_ms=90_000,
    )
    catalog.reset_counters(a)
    assert catalog.counters(a) == Counters(stream_table_id=a)


def test_a_clock_that_was_set_back_does_not_shrink_a_total(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    a = add("a")
    line = record("r", a)
    catalog.start_refresh(line)
    catalog.finish_refresh(replace(line, status=RefreshStatus.COMPLETED, ended_at=now - MINUTE))
    assert catalog.counters(a).total_refresh_duration_ms == 0


def test_a_refresh_starts_running_and_ends_ended(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    line = record("r", add("a"))
    with pytest.raises(InternalError):
        catalog.start_refresh(replace(line, status=RefreshStatus.COMPLETED))
    catalog.start_refresh(line)
    with pytest.raises(InternalError):
        catalog.finish_refresh(line)
    with pytest.raises(InternalError):
        catalog.record_refresh(replace(line, refresh_id="r2"))
    with pytest.raises(StreamTableNotFound):
        catalog.start_refresh(replace(line, refresh_id="r3", stream_table_id=99))
    assert [kept.refresh_id for kept in catalog.recent_history()] == ["r"]


def test_pruning_drops_old_ended_rows_only(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    a = add("a")
    old, edge = now - timedelta(days=30, microseconds=1), now - timedelta(days=30)
    for name, started in (("old", old), ("edge", edge)):
        line = record(name, a, started_at=started, status=RefreshStatus.FAILED, ended_at=now)
        catalog.record_refresh(line)
    catalog.start_refresh(record("running", a, started_at=old))
    assert catalog.prune_history(timedelta(days=30), now=now) == 1
    assert {line.refresh_id for line in catalog.recent_history()} == {"edge", "running"}
    assert catalog.counters(a).error_count == 2


def test_the_row_of_a_living_worker_is_left_alone(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    a = add("a")
    lease = catalog.acquire_lease(a, current_owner(), MINUTE, now=now)
    catalog.start_refresh(record("r", a, owner=lease.holder, lease_token=lease.token))
    assert catalog.close_orphans(now=now + 59 * SECOND) == []
    assert catalog.close_orphans(now=now + MINUTE) == ["r"], "the lease has expired"


def test_a_closed_row_says_so_and_cannot_be_finished_any_more(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    a = add("a")
    line = record("r", a, owner="elsewhere:1:x", lease_token=1)
    catalog.acquire_lease(a, "elsewhere:1:x", MINUTE, now=now)
    catalog.start_refresh(line)
    catalog.acquire_lease(a, current_owner(), MINUTE, now=now + MINUTE)
    later = now + MINUTE
    assert catalog.close_orphans(now=later) == ["r"]
    (closed,) = catalog.recent_history()
    assert closed == replace(line, status=RefreshStatus.FAILED, ended_at=later, error_message="interrupted by restart")
    with pytest.raises(LeaseLost):
        catalog.finish_refresh(replace(line, status=RefreshStatus.COMPLETED, ended_at=later))
    assert catalog.recent_history() == [closed]
    counters = catalog.counters(a)
    assert (counters.error_count, counters.refresh_count) == (1, 0)
    assert catalog.close_orphans(now=later) == []


def test_an_older_row_of_a_worker_that_goes_on_is_closed(
    catalog: SqlCatalog, add: Callable[..., int], record: Callable[..., RefreshRecord], now: datetime
) -> None:
    a = add("a")
    for name in ("lost", "running"):
        lease = catalog.acquire_lease(a, current_owner(), MINUTE, now=now)
        catalog.start_refresh(record(name, a, owner=lease.holder, lease_token=lease.token))
        if name == "lost":
            catalog.release_lease(lease)
    assert catalog.close_orphans(now=now) == ["lost"]


DOOMED = """
    import sys
    from datetime import datetime, timedelta
    from penstock.catalog import Action, RefreshRecord, RefreshStatus, current_owner, open_catalog

    now = datetime.fromisoformat(sys.argv[2])
    catalog = open_catalog(sys.argv[1])
    lease = catalog.acquire_lease(1, current_owner(), timedelta(days=1), now=now)
    catalog.start_refresh(RefreshRecord(
        refresh_id="doomed", stream_table_id=1, name="default.a", action=Action.FULL, status=RefreshStatus.RUNNING,
        started_at=now, owner=lease.holder, lease_token=lease.token,
    ))
    print("running", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.process
@pytest.mark.kill
def test_a_killed_worker_is_noticed_although_its_lease_runs_on(
    catalog: SqlCatalog, add: Callable[..., int], place: Place, now: datetime
) -> None:
    assert add("a") == 1
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    worker = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DOOMED), place.address, now.isoformat()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "running\n"
        assert catalog.close_orphans(now=now) == []
        worker.send_signal(signal.SIGSTOP)
        assert catalog.close_orphans(now=now) == [], "a stopped worker may wake up"
        worker.kill()
    assert catalog.close_orphans(now=now) == ["doomed"]
    assert catalog.acquire_lease(1, current_owner(), MINUTE, now=now).token == 2


COUNTER = """
    import sys
    from datetime import datetime
    from penstock.catalog import Action, RefreshRecord, RefreshStatus, open_catalog

    who, rounds, now = sys.argv[2], int(sys.argv[3]), datetime.fromisoformat(sys.argv[4])
    with open_catalog(sys.argv[1]) as catalog:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(rounds):
            catalog.record_refresh(RefreshRecord(
                refresh_id=f"{who}-{number}", stream_table_id=1, name="default.a", action=Action.INCREMENTAL,
                status=RefreshStatus.COMPLETED, started_at=now, ended_at=now, rows_inserted=2, rows_deleted=1,
            ))
"""


@pytest.mark.process
def test_processes_that_count_together_lose_nothing(
    catalog: SqlCatalog, add: Callable[..., int], place: Place, now: datetime
) -> None:
    assert add("a") == 1
    rounds = 25
    workers = [run_process(COUNTER, place.address, who, rounds, now.isoformat()) for who in ("one", "two")]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=60)
        assert worker.returncode == 0
    counters = catalog.counters(1)
    assert (counters.refresh_count, counters.rows_inserted_total, counters.rows_deleted_total) == (50, 100, 50)
    lines = catalog.recent_history(max_rows=100)
    assert len({line.refresh_id for line in lines}) == 2 * rounds
