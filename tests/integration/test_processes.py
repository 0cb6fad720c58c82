"""Several processes on one warehouse, one after the other and at the same time, killed and stopped where it hurts."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner
from workers import Nursery, Worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kill, pytest.mark.jvm, pytest.mark.process]


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """The second process: a first one, with a JVM of its own, has made everything and is gone."""
    warehouse = tmp_path_factory.mktemp("processes")
    first = Nursery(warehouse)
    worker = first.worker()
    worker.ask(
        "sql",
        text="""
        CREATE SCHEMA sales;
        CREATE TABLE orders (id INT, region STRING, amount DECIMAL(12,2));
        CREATE TABLE sales.cities (region STRING, city STRING) PARTITIONED BY (region);
        INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20), (2, 'south', 20);
        INSERT INTO sales.cities VALUES ('north', 'Oslo'), ('south', 'Rome');
        USE sales;
        CREATE VIEW places AS SELECT o.id, c.city FROM default.orders o JOIN cities c ON o.region = c.region;
        USE default""",
    )
    worker.ask(
        "sql",
        text="""
        CREATE STREAM TABLE revenue TARGET LAG '5 minutes' AS
            SELECT region, sum(amount) AS total FROM orders GROUP BY region;
        CREATE STREAM TABLE sales.visits REFRESH MODE INCREMENTAL AS SELECT id, city FROM sales.places;
        CREATE STREAM TABLE sales.per_city TARGET LAG DOWNSTREAM AS
            SELECT city, count(*) AS n FROM sales.visits GROUP BY city;
        CREATE VIEW best AS SELECT max(total) AS total FROM revenue;
        ALTER STREAM TABLE revenue SUSPEND""",
    )
    worker.end()
    first.close()
    second = Nursery(warehouse)
    yield second
    second.close()


def test_a_second_process_finds_everything(nursery: Nursery) -> None:
    worker = nursery.worker()
    assert worker.ask("sql", text="SELECT * FROM best") == [["40.00"]]
    assert worker.ask("sql", text="SELECT city, n FROM sales.per_city ORDER BY city") == [["Oslo", 1], ["Rome", 2]]
    worker.ask("exact", names=["revenue", "sales.visits", "sales.per_city"], audited=False)
    facts = {each["name"]: each for each in worker.ask("info")}
    assert {name: (each["target_lag"], each["refresh_mode"], each["status"]) for name, each in facts.items()} == {
        "default.revenue": ("5 minutes", "AUTO", "SUSPENDED"),
        "sales.visits": ("1 minute", "INCREMENTAL", "ACTIVE"),
        "sales.per_city": ("DOWNSTREAM", "AUTO", "ACTIVE"),
    }
    assert len(worker.ask("graph")) == 5
    worker.ask("sql", text="INSERT INTO orders VALUES (3, 'south', 1); DELETE FROM sales.cities WHERE city = 'Oslo'")
    done = worker.ask("refresh", name="sales.per_city")
    assert [done["action"], *(each["action"] for each in done["upstream"])] == ["INCREMENTAL", "INCREMENTAL"]
    assert worker.ask("refresh", name="revenue")["action"] == "INCREMENTAL"
    worker.ask("exact", names=["revenue", "sales.visits", "sales.per_city"])
    worker.end()


def test_a_table_dropped_and_made_anew_in_a_second_process_is_empty(nursery: Nursery) -> None:
    first = nursery.worker()
    first.ask("sql", text="DROP TABLE sales.cities; CREATE TABLE sales.cities (region STRING, city STRING)")
    assert first.ask("sql", text="SELECT * FROM sales.cities") == []
    first.end()


STEPS = (
    ("lease taken", 1, False),
    ("started", 1, False),
    ("pinned", 1, False),
    ("classified", 2, False),
    ("decided", 1, False),
    ("computed", 1, False),
    ("before the write", 1, False),
    ("written", 1, True),
    ("committed", 1, True),
    ("before the catalog", 1, True),
    ("in the catalog", 1, True),
    ("in history", 1, True),
)
"""Where a refresh is killed, at which passing, and whether its commit is in the table by then."""


@pytest.mark.slow
def test_a_refresh_killed_between_any_two_steps_loses_and_repeats_nothing(nursery: Nursery) -> None:
    worker = nursery.worker()
    worker.ask(
        "sql",
        text="""
        CREATE TABLE ticks (id INT, v INT);
        INSERT INTO ticks VALUES (0, 0), (0, 0), (1, 1);
        CREATE STREAM TABLE bag AS SELECT id, v * 2 AS w FROM ticks;
        CREATE STREAM TABLE sums AS SELECT w, count(*) AS n, sum(id) AS ids FROM bag GROUP BY w""",
    )
    for number, (step, time, landed) in enumerate(STEPS, 10):
        worker.ask(
            "sql",
            text=f"INSERT INTO ticks VALUES ({number}, 1), ({number}, 1), (0, 0); UPDATE ticks SET v = 2 WHERE id = 1;"
            f"DELETE FROM ticks WHERE id = {number - 2}",
        )
        worker.ask("fail", step=step, how="kill", time=time)
        worker.dies("refresh", name="sums")

        worker = nursery.worker()
        newest = worker.ask("history", name="bag")[0]
        if step in ("lease taken", "in history"):
            assert newest["status"] == "COMPLETED", step
        else:
            assert newest["status"] == "FAILED", step
            assert "interrupted" in newest["error"], step
        done = worker.ask("refresh", name="sums")
        assert done["action"] == "INCREMENTAL", step
        assert [each["action"] for each in done["upstream"]] == ["NO_DATA" if landed else "INCREMENTAL"], step
        worker.ask("exact", names=["bag", "sums"], audited=False)
        assert worker.ask("refresh", name="sums")["action"] == "NO_DATA", step
    worker.ask("exact", names=["bag", "sums"])
    assert all(each["status"] != "RUNNING" for each in worker.ask("history", name="sums"))
    worker.end()


def test_a_kill_after_a_commit_by_spark_repeats_nothing(nursery: Nursery) -> None:
    worker = nursery.worker(apply="spark")
    worker.ask(
        "sql",
        text="""
        CREATE TABLE drops (id INT);
        INSERT INTO drops VALUES (1), (1), (2);
        CREATE STREAM TABLE by_spark AS SELECT id FROM drops;
        INSERT INTO drops VALUES (1), (3);
        DELETE FROM drops WHERE id = 2""",
    )
    worker.ask("fail", step="written by Spark", how="kill")
    worker.dies("refresh", name="by_spark")
    worker = nursery.worker(apply="spark")
    assert worker.ask("refresh", name="by_spark")["action"] == "NO_DATA"
    worker.ask("exact", names=["by_spark"])
    worker.end()


@pytest.mark.slow
def test_laying_out_anew_killed_or_overtaken_changes_no_row(nursery: Nursery) -> None:
    worker = nursery.worker(lease_seconds=5)
    worker.ask(
        "sql",
        text="CREATE TABLE beads (id INT); CREATE STREAM TABLE chain AS SELECT id FROM beads; "
        "CREATE STREAM TABLE lengths AS SELECT id, count(*) AS n FROM chain GROUP BY id",
    )

    def change() -> None:
        # So many small files that they are put together.
        for bead in range(8):
            worker.ask("sql", text=f"INSERT INTO beads VALUES (1), ({bead}); REFRESH STREAM TABLE chain")

    change()
    worker.ask("fail", step="rewritten", how="kill")
    worker.dies("optimize", name="chain")
    worker = nursery.worker(lease_seconds=5)
    worker.ask("refresh", name="lengths")
    worker.ask("exact", names=["chain", "lengths"])
    # A worker stops on the way; its lease runs out, and another refreshes in the meantime.
    change()
    worker.ask("fail", step="before the rewrite", how="stop")
    worker.send("optimize", name="chain")
    assert worker.hear() == {"at": "before the rewrite"}
    other = nursery.worker(lease_seconds=5)
    other.ask("sql", text="DELETE FROM beads WHERE id = 1")
    assert other.ask("refresh", name="lengths")["action"] == "INCREMENTAL"
    worker.signal(signal.SIGCONT)
    assert "moved from version" in worker.hear()["error"]
    other.ask("exact", names=["chain", "lengths"])
    other.ask("optimize", name="chain")
    other.ask("sql", text="INSERT INTO beads VALUES (2)")
    other.ask("refresh", name="lengths")
    other.ask("exact", names=["chain", "lengths"])
    worker.end()
    other.end()


def test_a_rebuild_killed_half_way_keeps_the_rows_and_is_finished_by_the_next(nursery: Nursery) -> None:
    worker = nursery.worker()
    worker.ask(
        "sql",
        text="""
        CREATE TABLE shapes (id INT, v INT);
        INSERT INTO shapes VALUES (1, 1);
        CREATE STREAM TABLE shaped AS SELECT * FROM shapes;
        CREATE OR REPLACE TABLE shapes AS SELECT 2 AS id, 'x' AS v""",
    )
    worker.ask("fail", step="computed", how="kill")
    worker.dies("refresh", name="shaped")
    worker = nursery.worker()
    assert worker.ask("sql", text="SELECT * FROM shaped") == [[1, 1]]
    worker.ask("fail", step="before the definition", how="kill")
    worker.dies("refresh", name="shaped")
    # A new JVM does not know the view, and makes it from what the newest commit says.
    worker = nursery.worker()
    worker.ask("forget", statements=["DROP VIEW shaped"])
    worker.end()
    worker = nursery.worker()
    assert worker.ask("sql", text="SELECT * FROM shaped") == [[2, "x"]]
    assert worker.ask("refresh", name="shaped")["action"] == "NO_DATA"
    worker.ask("exact", names=["shaped"])
    worker.end()


SWAP = (
    ("lease taken", False),
    ("pinned", False),
    ("computed", False),
    ("before the write", False),
    ("committed", True),
    ("before the definition", True),
    ("definition set", True),
    ("redefined", True),
    ("before the catalog", True),
    ("in the catalog", True),
)
"""Where ALTER … AS is killed, and whether rows and definition are the new ones by then: both or neither."""


@pytest.mark.slow
def test_a_definition_and_its_rows_change_together_wherever_the_change_is_killed(nursery: Nursery) -> None:
    worker = nursery.worker()
    worker.ask(
        "sql",
        text="""
        CREATE TABLE goods (id INT, v INT);
        INSERT INTO goods VALUES (1, 1), (2, 2), (2, 2);
        CREATE STREAM TABLE kept AS SELECT v, count(*) AS n FROM goods GROUP BY v;
        CREATE STREAM TABLE kept_reader AS SELECT sum(n) AS n FROM kept""",
    )
    queries = ["SELECT v, count(*) AS n FROM goods GROUP BY v", "SELECT id + 1 AS more, id, v AS n FROM goods"]
    held = 0
    for number, (step, swapped) in enumerate(SWAP, 10):
        worker.ask("fail", step=step, how="kill")
        worker.dies("sql", text=f"ALTER STREAM TABLE kept AS {queries[1 - held]}")
        # The next process knows only what is on disk.
        worker = nursery.worker()
        worker.ask("forget", statements=["DROP VIEW kept"])
        worker.end()
        worker = nursery.worker()
        held = 1 - held if swapped else held
        columns = 2 if held == 0 else 3
        assert all(len(row) == columns for row in worker.ask("sql", text="SELECT * FROM kept")), step
        worker.ask("sql", text=f"INSERT INTO goods VALUES ({number}, {number % 3})")
        assert worker.ask("refresh", name="kept")["action"] == "INCREMENTAL", step
        [facts] = worker.ask("info", name="kept")
        assert facts["query"] == queries[held], step
        worker.ask("exact", names=["kept"], audited=False)
        worker.ask("refresh", name="kept_reader")
        worker.ask("exact", names=["kept_reader"], audited=False)
    worker.ask("exact", names=["kept", "kept_reader"])
    worker.end()


@pytest.mark.parametrize("step", ["storage made", "catalog row made", "view made"])
def test_a_create_killed_half_way_can_be_completed(nursery: Nursery, step: str) -> None:
    name = step.replace(" ", "_")
    create = f"CREATE STREAM TABLE IF NOT EXISTS {name} AS SELECT count(*) AS n FROM range(3) r JOIN orders"
    worker = nursery.worker()
    worker.ask("fail", step=step, how="kill")
    worker.dies("sql", text=create)
    worker = nursery.worker()
    known = [each["status"] for each in worker.ask("info") if each["name"] == f"default.{name}"]
    assert known == ([] if step == "storage made" else ["INITIALIZING"])
    worker.ask("sql", text=create)
    if known:
        assert worker.ask("sql", text=f"SELECT * FROM {name}") == []
        assert worker.ask("refresh", name=name)["action"] == "FULL"
    worker.ask("exact", names=[name])
    worker.end()


# -- two at once


def _pair(nursery: Nursery, table: str) -> tuple[Worker, Worker]:
    one = nursery.worker(lease_seconds=5)
    one.ask(
        "sql",
        text=f"""
        CREATE TABLE {table} (id INT, v INT);
        INSERT INTO {table} VALUES (1, 1), (1, 1);
        CREATE STREAM TABLE {table}_st AS SELECT v, count(*) AS n FROM {table} GROUP BY v;
        INSERT INTO {table} VALUES (2, 1), (3, 2)""",
    )
    two = nursery.worker(lease_seconds=5)
    # Both have compiled the query by now: two processes at it in one JVM would get each other's callbacks.
    for worker in (one, two):
        worker.ask("refresh", name=f"{table}_st")
        worker.ask("sql", text=f"INSERT INTO {table} VALUES (3, 2)")
    return one, two


def test_two_processes_take_turns_on_one_table(nursery: Nursery) -> None:
    one, two = _pair(nursery, "shared")
    one.ask("fail", step="computed", how="wait")
    one.send("refresh", name="shared_st")
    assert one.hear() == {"at": "computed"}
    two.ask("sql", text="INSERT INTO shared VALUES (4, 2)")
    two.send("refresh", name="shared_st")
    # The lease outlives its five seconds, because its holder is at work and renews it.
    assert two.is_silent(6), "the second went ahead while the first held the lease"
    one.send("go on")
    assert one.hear()["value"]["action"] == "INCREMENTAL"
    assert two.hear()["value"]["action"] == "INCREMENTAL"
    two.ask("exact", names=["shared_st"])

    for number in range(3):
        one.send("sql", text=f"INSERT INTO shared VALUES ({number}, 3); REFRESH STREAM TABLE shared_st")
        two.send("sql", text="REFRESH STREAM TABLE shared_st; REFRESH STREAM TABLE shared_st")
        for worker in (one, two):
            answer = worker.hear()
            assert "error" not in answer, answer
    one.ask("refresh", name="shared_st")
    one.ask("exact", names=["shared_st"])
    assert {each["status"] for each in two.ask("history", name="shared_st")} == {"COMPLETED"}
    one.end()
    two.end()


@pytest.mark.parametrize(
    ("step", "error"),
    [("before the write", "CommitConflict"), pytest.param("computed", "LeaseLost", marks=pytest.mark.slow)],
)
def test_a_worker_that_sleeps_through_a_takeover_does_no_harm(nursery: Nursery, step: str, error: str) -> None:
    table = f"taken_{step.split()[0]}"
    sleeper, other = _pair(nursery, table)
    sleeper.ask("fail", step=step, how="stop")
    sleeper.send("refresh", name=f"{table}_st")
    assert sleeper.hear() == {"at": step}
    assert other.ask("refresh", name=f"{table}_st")["action"] == "INCREMENTAL"
    sleeper.signal(signal.SIGCONT)
    assert sleeper.hear()["error"].startswith(error)
    other.ask("exact", names=[f"{table}_st"])
    other.ask("sql", text=f"DELETE FROM {table} WHERE id = 1")
    # The one that slept is a good worker again.
    assert sleeper.ask("refresh", name=f"{table}_st")["action"] == "INCREMENTAL"
    sleeper.ask("exact", names=[f"{table}_st"])
    assert [each["status"] for each in other.ask("history", name=f"{table}_st")].count("FAILED") == 1
    assert other.ask("info", name=f"{table}_st")[0]["status"] == "ACTIVE"
    sleeper.end()
    other.end()


def test_a_worker_that_sleeps_before_its_definition_is_set_does_not_undo_a_later_one(nursery: Nursery) -> None:
    sleeper, other = _pair(nursery, "redone")
    sleeper.ask("fail", step="before the definition", how="stop")
    sleeper.send("sql", text="ALTER STREAM TABLE redone_st AS SELECT v, sum(id) AS ids FROM redone GROUP BY v")
    assert sleeper.hear() == {"at": "before the definition"}
    later = "SELECT id, count(*) AS n FROM redone GROUP BY id"
    other.ask("sql", text=f"ALTER STREAM TABLE redone_st AS {later}")
    sleeper.signal(signal.SIGCONT)
    assert sleeper.hear()["error"].startswith("LeaseLost")
    assert other.ask("info", name="redone_st")[0]["query"] == later
    assert other.ask("refresh", name="redone_st")["action"] == "NO_DATA"
    other.ask("exact", names=["redone_st"])
    sleeper.end()
    other.end()


# -- a lost catalog


def test_a_lost_catalog_is_rebuilt_from_the_tables(nursery: Nursery, tmp_path: Path) -> None:
    names = ["rep_sum", "rep_keyed", "rep.deep", "rep_viewed"]
    worker = nursery.worker(tmp_path)
    worker.ask(
        "sql",
        text=f"""
        CREATE SCHEMA rep;
        CREATE TABLE rep_orders (id INT, v INT) USING delta LOCATION '{tmp_path}/tables/rep_orders';
        CREATE TABLE rep.inner (v INT, name STRING) USING delta LOCATION '{tmp_path}/tables/rep.db/inner';
        INSERT INTO rep_orders VALUES (1, 1), (2, 2); INSERT INTO rep.inner VALUES (1, 'one');
        CREATE VIEW rep_view AS SELECT id FROM rep_orders WHERE v > 1;
        CREATE STREAM TABLE rep_sum TARGET LAG '7 minutes' AS SELECT v, count(*) AS n FROM rep_orders GROUP BY v;
        CREATE STREAM TABLE rep_keyed REFRESH MODE INCREMENTAL KEY (id) AS SELECT id, v FROM rep_orders;
        CREATE STREAM TABLE rep.deep TARGET LAG DOWNSTREAM AS
            SELECT s.n, i.name FROM rep_sum s JOIN rep.inner i ON s.v = i.v;
        CREATE STREAM TABLE rep_viewed REFRESH MODE FULL AS SELECT count(*) AS n FROM rep_view;
        INSERT INTO rep_orders VALUES (3, 1)""",
    )
    for name in names:
        worker.ask("refresh", name=name)

    def told(worker: Worker) -> Any:
        kept = ("target_lag", "refresh_mode", "key", "query", "table_id", "path", "frontier", "is_populated", "status")
        found = worker.ask("info")
        for each in found:
            # The moment may have moved on in the catalog alone; the versions say what the rows are.
            each["frontier"] = {source: at["version"] for source, at in each["frontier"]["sources"].items()}
        return {each["name"]: {name: each[name] for name in kept} for each in found}

    before, edges = told(worker), worker.ask("graph")
    worker.ask("forget", statements=[f"DROP VIEW {name}" for name in [*names, "rep_view"]])
    worker.ask("forget", statements=["DROP TABLE rep_orders", "DROP TABLE rep.inner", "DROP SCHEMA rep"])
    worker.end()
    for file in tmp_path.glob("catalog.sqlite*"):
        file.unlink()

    worker = nursery.worker(tmp_path, mend=True)
    lines = worker.mended
    assert next(line for line in lines if "could not be restored" in line).startswith("stream table default.rep_viewed")
    # The text of a view is in the catalog alone: it has to come from its author again.
    worker.ask("sql", text="CREATE VIEW rep_view AS SELECT id FROM rep_orders WHERE v > 1")
    assert worker.ask("repair") == ["stream table default.rep_viewed: restored, at version 2"]
    assert told(worker) == before
    assert worker.ask("graph") == edges
    for name in names:
        assert worker.ask("refresh", name=name)["action"] == "NO_DATA"
    worker.ask("exact", names=names)
    worker.ask("sql", text="INSERT INTO rep_orders VALUES (4, 2)")
    for name in names[:3]:
        assert worker.ask("refresh", name=name)["action"] == "INCREMENTAL"
    assert worker.ask("refresh", name="rep_viewed")["action"] == "FULL"
    worker.ask("exact", names=names)
    assert worker.ask("repair") == ["nothing to repair"]
    worker.end()


# -- the command line, end to end


def test_the_command_line_end_to_end(spark: SparkSession, tmp_path: Path) -> None:
    from penstock import api
    from penstock.cli.app import app
    from penstock.cli.context.command_context import Openers

    session = spark.newSession()
    session.sql(f"CREATE SCHEMA cli LOCATION '{tmp_path / 'tables'}'")
    session.sql("USE cli")
    here = tmp_path / "warehouse"

    def run(*words: str, code: int = 0) -> Any:
        where = () if words[0] == "init" else ("-w", str(here))
        openers: Any = [lambda path: api.open(path, spark=session)] * 2
        seam = Openers(*openers)
        result = CliRunner().invoke(app, [*words, *where, "--json"], obj=seam)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    try:
        assert run("init", str(here))["created"] is True
        assert run("init", str(here))["created"] is False
        script = "CREATE TABLE orders (id INT, region STRING); INSERT INTO orders VALUES (1, 'n'), (2, 's'), (3, 'n')"
        assert len(run("sql", "-e", script)["results"]) == 2
        made = run("create", "counts", "SELECT region, count(*) AS n FROM orders GROUP BY region", "--lag", "5m")
        assert (made["name"], made["created"], made["refresh"]["rows_inserted"]) == ("cli.counts", True, 2)
        assert run("create", "counts", "SELECT 1 AS x", code=1)["error"]["condition"] == "TABLE_EXISTS"
        run("sql", "-e", "INSERT INTO orders VALUES (4, 's')")
        [done] = run("refresh", "counts")
        assert (done["action"], done["rows_inserted"], done["rows_deleted"]) == ("INCREMENTAL", 1, 1)
        [shown] = run("sql", "-e", "SELECT * FROM counts ORDER BY region")["results"]
        assert shown["rows"] == [["n", 2], ["s", 2]]
        [row] = run("status")
        assert (row["name"], row["status"], row["target_lag"], row["errors"]) == (
            "cli.counts",
            "ACTIVE",
            "5 minutes",
            0,
        )
        assert [each["action"] for each in run("history", "counts")] == ["INCREMENTAL", "FULL"]
        assert run("graph")["edges"] == [{"name": "cli.counts", "source_name": "cli.orders", "source_type": "TABLE"}]
        [facts] = run("info", "counts")
        assert facts["sources"][0]["columns_used"] == ["region"]
        told = run("explain", "counts")
        assert told["effective_mode"] == "INCREMENTAL"
        assert told["delta"]
        assert [each["exact"] for each in run("audit", "counts")] == [True]
        run("alter", "counts", "--lag", "1h")
        assert run("status")[0]["target_lag"] == "1 hour"
        assert run("drop", "nothing", "--yes", code=1)["error"]["condition"] == "STREAM_TABLE_NOT_FOUND"
        assert run("drop", "counts", "--yes")["dropped"] == ["cli.counts"]
        assert run("status") == []
        assert run("sql", "-e", "SELECT * FROM counts", code=1)["error"]
    finally:
        session.sql("USE default")
        session.sql("DROP SCHEMA cli CASCADE")
