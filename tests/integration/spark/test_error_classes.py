"""Every class of error, through refreshes of a real warehouse: what happens to the status, and that the rows stay."""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import (
    CommitConflict,
    DiskFull,
    FrontierLost,
    InternalError,
    JobCancelled,
    OutOfMemory,
    PenstockError,
    QueryFailed,
    QueryInvalid,
    SourceMissing,
)
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


def location(ps: StreamTables, table: str) -> Path:
    return Path(str(ps.spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["location"]).removeprefix("file:"))


def rows(ps: StreamTables, name: str = "st") -> list[Any]:
    return sorted(map(tuple, ps.table(name).collect()), key=repr)


def state(ps: StreamTables, name: str = "st") -> tuple[str, int]:
    row = next(each for each in ps.status() if each.name == f"shop.{name}")
    return row.status, row.errors


@pytest.mark.parametrize("mode", ["INCREMENTAL", "FULL"])
@pytest.mark.parametrize(
    ("query", "bad", "condition"),
    [
        pytest.param("SELECT id, 100 / v AS x FROM src", "(9, 0, '9')", "DIVIDE_BY_ZERO", id="division by zero"),
        pytest.param("SELECT id, v * 2000000000 AS x FROM src", "(9, 2, '9')", "ARITHMETIC_OVERFLOW", id="overflow"),
        pytest.param("SELECT id, CAST(s AS INT) AS x FROM src", "(9, 1, 'x')", "CAST_INVALID_INPUT", id="cast"),
        pytest.param(
            "SELECT id, element_at(array(1), v) AS x FROM src", "(9, 2, '9')", "INVALID_ARRAY_INDEX", id="index"
        ),
        pytest.param(
            "SELECT id, if(v > 1, raise_error('no'), v) AS x FROM src", "(9, 2, '9')", "USER_RAISED", id="raised"
        ),
    ],
)
def test_data_that_the_query_cannot_take_is_an_error_at_once(
    ps: StreamTables, mode: str, query: str, bad: str, condition: str
) -> None:
    ps.sql("CREATE TABLE src (id INT, v INT, s STRING); INSERT INTO src VALUES (1, 1, '1')")
    ps.create_stream_table("st", query, refresh_mode=mode)
    held = rows(ps)
    ps.sql(f"INSERT INTO src VALUES {bad}")
    with pytest.raises(QueryFailed, match=condition) as told:
        ps.refresh("st")
    # One line, with nothing in it that only Penstock knows.
    assert "\n" not in told.value.text
    assert not re.search(r"__ps_|_\d+`", told.value.text)
    assert (state(ps)[0], rows(ps)) == ("ERROR", held)
    # It rests now; data that was mended and a refresh by hand bring it back.
    failed_at = ps._find("st").updated_at
    assert ps.tick(failed_at) == []
    ps.sql("DELETE FROM src WHERE id = 9; INSERT INTO src VALUES (2, 1, '1')")
    ps.refresh("st")
    assert_exact(ps, "st")
    assert state(ps) == ("ACTIVE", 0)


def test_a_user_function_that_raises_is_an_error_of_the_query(ps: StreamTables) -> None:
    ps.spark.udf.register("sevenths", lambda v: 7 // v, "INT")
    ps.sql("CREATE TABLE src (id INT, v INT); INSERT INTO src VALUES (1, 1)")
    ps.create_stream_table("st", "SELECT id, sevenths(v) AS x FROM src")
    held = rows(ps)
    ps.sql("INSERT INTO src VALUES (2, 0)")
    with pytest.raises(QueryFailed, match="ZeroDivisionError: integer division") as told:
        ps.refresh("st")
    assert "\n" not in told.value.text
    assert "Traceback" not in told.value.text
    assert (state(ps)[0], rows(ps)) == ("ERROR", held)


def test_a_query_of_the_files_that_rows_lie_in_is_refused(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src (id INT); CREATE TABLE odd (id INT, _metadata INT)")
    for query in (
        "SELECT id, _metadata.file_name FROM src",
        "SELECT id FROM odd WHERE id IN (SELECT id FROM src WHERE src._metadata.file_size > 0)",
    ):
        with pytest.raises(QueryInvalid, match="it reads _metadata,"):
            ps.create_stream_table("st", query)
    ps.create_stream_table("st", "SELECT * FROM odd")
    assert ps.table("st").columns == ["id", "_metadata"]
    ps.sql("INSERT INTO odd VALUES (1, 2)")
    assert ps.refresh("st").action == "INCREMENTAL"


def test_a_dropped_source_is_missing(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src (id INT); INSERT INTO src VALUES (1)")
    ps.create_stream_table("st", "SELECT id FROM src")
    ps.create_stream_table("reader", "SELECT count(*) AS n FROM st")
    held = rows(ps)
    ps.sql("DROP TABLE src", yes=True)
    with pytest.raises(SourceMissing, match="src"):
        ps.refresh("st")
    assert (state(ps)[0], rows(ps), rows(ps, "reader")) == ("ERROR", held, [(1,)])
    # Its consumer is not at fault: it waits.
    assert state(ps, "reader") == ("ACTIVE", 0)


def test_a_file_deleted_from_the_newest_version_cannot_be_rebuilt_and_is_an_error_after_three_times(
    ps: StreamTables,
) -> None:
    ps.sql("CREATE TABLE src (id INT); INSERT INTO src VALUES (1)")
    ps.create_stream_table("st", "SELECT id FROM src")
    held = rows(ps)
    ps.sql("INSERT INTO src VALUES (2)")
    for file in location(ps, "src").glob("*.parquet"):
        file.unlink()
    for errors, status in ((1, "ACTIVE"), (2, "ACTIVE"), (3, "ERROR")):
        with pytest.raises(FrontierLost):
            ps.refresh("st")
        assert (state(ps), rows(ps)) == ((status, errors), held)
    assert [each.status for each in ps.history("st", 3)] == ["FAILED"] * 3
    ps.sql("TRUNCATE TABLE src; INSERT INTO src VALUES (3)")
    ps.sql("ALTER STREAM TABLE st RESUME")
    assert state(ps) == ("ACTIVE", 0)
    ps.refresh("st")
    assert_exact(ps, "st")


@pytest.mark.parametrize(
    ("raised", "kind", "after_three"),
    [
        pytest.param(lambda: OSError(errno.ENOSPC, "No space left on device"), DiskFull, ("ACTIVE", 0), id="disk full"),
        pytest.param(MemoryError, OutOfMemory, ("ACTIVE", 0), id="memory"),
        pytest.param(lambda: CommitConflict(name="st", why="raced"), CommitConflict, ("ACTIVE", 0), id="conflict"),
        pytest.param(lambda: RuntimeError("a bug"), InternalError, ("SUSPENDED", 3), id="bug"),
    ],
)
def test_trouble_of_the_system_never_suspends_and_a_bug_does_at_once(
    ps: StreamTables,
    monkeypatch: pytest.MonkeyPatch,
    raised: Callable[[], Exception],
    kind: type[PenstockError],
    after_three: tuple[str, int],
) -> None:
    ps.sql("CREATE TABLE src (id INT); INSERT INTO src VALUES (1)")
    ps.create_stream_table("st", "SELECT id FROM src")
    held = rows(ps)
    ps.sql("INSERT INTO src VALUES (2)")

    def fail(*_: Any, **__: Any) -> None:
        raise raised()

    with monkeypatch.context() as broken:
        broken.setattr("penstock.refresh.stages.commit.write_change", fail)
        for time in range(3):
            with pytest.raises(kind):
                ps.refresh("st")
            assert rows(ps) == held
            if time == 0:
                assert state(ps)[0] == after_three[0]
    assert state(ps) == after_three
    ps.refresh("st")
    assert_exact(ps, "st")
    assert state(ps)[1] == 0


def test_a_cancelled_job_says_nothing_against_the_table(ps: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    ps.sql("CREATE TABLE src (id INT); INSERT INTO src VALUES (1)")
    ps.create_stream_table("st", "SELECT id, java_method('java.lang.Thread', 'sleep', 1L) IS NULL AS n FROM src")
    held = rows(ps)
    ps.sql("INSERT INTO src SELECT id FROM range(2000)")
    import threading

    done = threading.Event()

    def cancel() -> None:
        while not done.wait(0.2):
            ps.spark.sparkContext.cancelAllJobs()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        with pytest.raises(JobCancelled, match="cancelled"):
            ps.refresh("st")
    finally:
        done.set()
        canceller.join()
    assert (state(ps), rows(ps)) == (("ACTIVE", 0), held)


def test_errors_of_one_table_in_a_tick_are_kept_and_do_not_stop_the_others(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src (id INT, v INT); INSERT INTO src VALUES (1, 1)")
    ps.create_stream_table("fine", "SELECT id FROM src", "1 minute")
    ps.create_stream_table("st", "SELECT id, 1 / v AS x FROM src", "1 minute")
    held = rows(ps)
    ps.sql("INSERT INTO src VALUES (2, 0)")
    done = ps.tick(datetime.now(UTC) + timedelta(minutes=5))
    told = {each.name: None if each.error is None else type(each.error) for each in done}
    assert told == {"shop.fine": None, "shop.st": QueryFailed}
    assert (state(ps)[0], rows(ps)) == ("ERROR", held)
    assert "DIVIDE_BY_ZERO" in str(ps.history("st", 1)[0].error_message)


def test_a_tick_leaves_a_table_that_somebody_else_works_on(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src (id INT); INSERT INTO src VALUES (1)")
    for name in ("fine", "st"):
        ps.create_stream_table(name, "SELECT id FROM src", "1 minute")
    ps.create_stream_table("reader", "SELECT count(*) AS n FROM st", "1 minute")
    ps.sql("INSERT INTO src VALUES (2)")
    catalog = ps._warehouse.catalog
    meta = next(each for each in catalog.get_all() if each.name.table == "st")
    lease = catalog.acquire_lease(meta.id, "host:99", timedelta(minutes=5), now=catalog.now())
    done = {each.name: each for each in ps.tick(datetime.now(UTC) + timedelta(minutes=5))}
    assert (done["shop.st"].action, done["shop.st"].reason_code) == ("SKIP", "TABLE_BUSY")
    assert done["shop.reader"].action == "SKIP"
    assert [each.error for each in done.values()] == [None] * 3
    assert ps.history("st", 1)[0].status == "SKIPPED"
    catalog.release_lease(lease)
    ps.tick(datetime.now(UTC) + timedelta(minutes=10))
    for name in ("fine", "st", "reader"):
        assert_exact(ps, name)


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "replaced"])
def test_storage_that_others_took_away_stops_its_table_with_an_alert_and_drop_cleans_up(
    ps: StreamTables, replaced: bool
) -> None:
    ps.sql("CREATE TABLE src (id INT); INSERT INTO src VALUES (1)")
    ps.create_stream_table("fine", "SELECT id FROM src", "1 minute")
    ps.create_stream_table("st", "SELECT id FROM src", "1 minute")
    ps.create_stream_table("reader", "SELECT count(*) AS n FROM st", "1 minute")
    storage = Path(str(ps.info("st")[0]["path"]))
    shutil.rmtree(storage)
    if replaced:
        ps.spark.sql(f"CREATE TABLE delta.`{storage}` (id INT) USING delta")
    ps.sql("INSERT INTO src VALUES (2)")
    now = datetime.now(UTC)
    for number in range(3):
        ps.tick(now + timedelta(minutes=5 * (number + 1)))
    assert_exact(ps, "fine")
    assert state(ps) == ("ERROR", 3)
    assert state(ps, "reader") == ("ACTIVE", 0)
    told = [(each.event.value, each.facts.get("condition")) for each in reversed(ps.alerts("st"))]
    assert told == [("refresh_failed", "STORAGE_MISSING"), ("auto_suspended", None)]
    assert ps.diagnose("st").findings[0].code == "STORAGE_MISSING"
    # Nothing is cleaned up by itself: a disk that is not mounted looks the same.
    assert ps.drop_stream_table("st", cascade=True) == ["shop.reader", "shop.st"]
    assert [row.name for row in ps.status()] == ["shop.fine"]
