"""CREATE and ALTER take effect whole or not at all, and what refuses them says that nothing was changed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JNetworkError

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.run.workspace import Workspace
from penstock.engine.spark.threads import active
from penstock.errors import (
    EngineUnavailable,
    NotIncremental,
    PenstockError,
    QueryFailed,
    QueryInvalid,
    ReadersBreak,
    SourceCopied,
    SourceMissing,
    StorageUnreachable,
)
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables


@pytest.fixture
def ps(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, region STRING, amount INT);
        INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20);
        CREATE STREAM TABLE st AS SELECT id, region FROM orders;
        CREATE STREAM TABLE reader AS SELECT region FROM st""")
    return ps


def state(ps: StreamTables) -> Any:
    meta = ps._find("st")
    return (
        ps._warehouse.definition(meta),
        (meta.target_lag, meta.refresh_mode, meta.status, meta.query, meta.key, meta.consecutive_errors),
        sorted(ps.table("st").collect()),
    )


@pytest.mark.parametrize(
    ("query", "mode", "error"),
    [
        ("SELECT nope FROM orders", "FULL", QueryInvalid),
        ("SELECT id, region, 1 / (id - 1) AS x FROM orders", "FULL", QueryFailed),
        ("SELECT id FROM orders", "FULL", ReadersBreak),
        ("SELECT id, region, rand() AS r FROM orders", "INCREMENTAL", NotIncremental),
    ],
)
def test_of_an_alter_that_is_refused_nothing_takes_effect(
    ps: StreamTables, query: str, mode: str, error: type[PenstockError]
) -> None:
    before = state(ps)
    with pytest.raises(error):
        ps.alter_stream_table("st", "10 minutes", mode, "SUSPENDED", query)
    assert state(ps) == before
    ps.refresh("st")
    assert_exact(ps, "st")


def test_an_alter_of_everything_takes_effect_as_a_whole(ps: StreamTables) -> None:
    query = "SELECT id, region, amount FROM orders"
    told = ps.alter_stream_table("st", "10 minutes", "FULL", "SUSPENDED", query)
    assert told.message == (
        "replaced, 2 rows rebuilt, column amount added, target lag 10 minutes, refresh mode FULL, suspended"
    )
    stored, (lag, mode, status, *_), rows = state(ps)
    assert (stored.target_lag, stored.refresh_mode, stored.query) == (lag, mode, query)
    assert (str(lag), mode, status, len(rows)) == ("0:10:00", "FULL", "SUSPENDED", 2)
    told = ps.alter_stream_table("st", None, status="ACTIVE", query=query)
    assert told.message == "altered, target lag DOWNSTREAM, resumed"
    assert state(ps)[1][2] == "ACTIVE"


def test_a_mode_is_judged_with_the_query_that_is_given_with_it(ps: StreamTables) -> None:
    ps.sql("CREATE STREAM TABLE dice AS SELECT id, rand() AS r FROM orders")
    ps.alter_stream_table("dice", refresh_mode="INCREMENTAL", query="SELECT id FROM orders")
    ps.sql("INSERT INTO orders VALUES (3, 'east', 5)")
    assert ps.refresh("dice").action == "INCREMENTAL"
    ps.alter_stream_table("dice", refresh_mode="FULL", query="SELECT id, rand() AS r FROM orders")
    assert ps.status()[0].refresh_mode == "FULL"


STATEMENTS = {
    "create": "CREATE STREAM TABLE made AS {}",
    "later": "CREATE STREAM TABLE made INITIALIZE ON SCHEDULE AS {}",
    "replace": "CREATE OR REPLACE STREAM TABLE st CASCADE AS {}",
    "alter": "ALTER STREAM TABLE st CASCADE AS {}",
}


def refused(ps: StreamTables, statement: str, error: type[PenstockError]) -> PenstockError:
    before = state(ps)
    with pytest.raises(error) as caught:
        ps.sql(statement)
    assert state(ps) == before
    assert caught.value.advice.startswith("Nothing was changed. "), caught.value.advice
    assert "stored rows" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_what_fails_before_the_fill_says_that_nothing_was_changed(
    ps: StreamTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    location = str(ps.sql("DESCRIBE DETAIL orders").collect()[0]["location"]).removeprefix("file:")
    shutil.copytree(location, tmp_path / "copy")
    copied = statement.format(f"SELECT id FROM orders UNION ALL SELECT id FROM delta.`{tmp_path}/copy`")
    assert "CREATE TABLE" in refused(ps, copied, SourceCopied).advice

    def away(*_: Any) -> None:
        raise StorageUnreachable(name="orders", why="the disk is away")

    with monkeypatch.context() as broken:
        broken.setattr(Workspace, "bind", away)
        refused(ps, statement.format("SELECT id FROM orders"), StorageUnreachable)


def test_a_mode_that_cannot_be_judged_changes_nothing_and_says_so(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> None:
        raise StorageUnreachable(name="orders", why="the disk is away")

    monkeypatch.setattr(Workspace, "plan_anew", away)
    refused(ps, "ALTER STREAM TABLE st SET REFRESH MODE INCREMENTAL", StorageUnreachable)


def test_a_source_whose_log_has_gone_meanwhile_is_told_with_one_advice(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has analysed the query, and then the folder is taken away."""
    held = DeltaLog.snapshot

    def snapshot(log: DeltaLog, *given: Any) -> Any:
        if log.root.endswith("/orders"):
            raise SourceMissing(source="orders", why="there is no log")
        return held(log, *given)

    monkeypatch.setattr(DeltaLog, "snapshot", snapshot)
    with pytest.raises(QueryInvalid) as caught:
        ps.sql("CREATE STREAM TABLE made AS SELECT id FROM orders")
    assert str(caught.value) == (
        "[QUERY_INVALID] the query cannot be used: source orders is gone: there is no log\n"
        "  Create the table, or mend the query."
    )


def test_what_cannot_be_filled_is_gone_though_spark_does_not_answer(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any) -> None:
        monkeypatch.setattr("penstock.refresh.keep_names.stamp", silent)
        monkeypatch.setattr("penstock.ddl.drop.drop_left_over", silent)
        raise EngineUnavailable(name="made", why="the JVM is gone")

    def silent(*_: Any) -> None:
        raise Py4JNetworkError("no answer from the JVM")

    with monkeypatch.context() as patched:
        patched.setattr("penstock.refresh.run.compute", lost)
        with pytest.raises(EngineUnavailable):
            ps.sql("CREATE STREAM TABLE made AS SELECT id FROM orders")
    monkeypatch.undo()
    assert "shop.made" not in {row.name for row in ps.status()}
    assert not list((ps.path / "stream_tables").glob("*/made-*"))
    # Its view was left, and is out of the way.
    ps.sql("CREATE STREAM TABLE made AS SELECT id FROM orders")
    assert_exact(ps, "made")


@pytest.mark.parametrize("answers", [True, False])
def test_a_create_that_is_interrupted_leaves_no_view(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    def silent(*_: Any) -> None:
        raise Py4JNetworkError("no answer from the JVM")

    with monkeypatch.context() as patched:
        patched.setattr("penstock.ddl.create.reach", interrupted)
        if not answers:
            patched.setattr("penstock.ddl.drop.drop_left_over", silent)
        with pytest.raises(KeyboardInterrupt):
            ps.sql("CREATE STREAM TABLE made AS SELECT id FROM orders")
    assert ps.spark.catalog.tableExists("made") is not answers
    ps.sql("CREATE STREAM TABLE made AS SELECT id FROM orders")
    assert_exact(ps, "made")


def test_a_query_is_read_under_the_settings_of_its_session_whichever_is_active(
    ps: StreamTables, spark: SparkSession
) -> None:
    ps.spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    query = 'SELECT "region", sum("amount") AS "total" FROM "orders" GROUP BY "region"'
    with active(spark):
        ps.create_stream_table("quoted", query)
        ps.alter_stream_table("quoted", refresh_mode="INCREMENTAL")
        assert ps.explain(query).effective == "INCREMENTAL"
    ps.sql("INSERT INTO orders VALUES (3, 'south', 5)")
    assert ps.refresh("quoted").action == "INCREMENTAL"
    assert sorted(map(tuple, ps.table("quoted").collect())) == [("north", 10), ("south", 25)]
