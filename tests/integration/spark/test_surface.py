"""Stream tables as a user meets them: what is refused, what is made, what a refresh does and what can be looked at."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from warehouses import warehouse

from penstock.errors import (
    CycleInGraph,
    HasConsumers,
    InvalidMode,
    InvalidName,
    InvalidStatement,
    InvalidTargetLag,
    KeyColumnMissing,
    KeyViolated,
    NotIncremental,
    PenstockError,
    QueryFailed,
    QueryInvalid,
    SchemaNotFound,
    StreamTableNotFound,
    TableExists,
    UnstorableColumn,
)
from penstock.refresh.stages import compute
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

Rows = list[tuple[Any, ...]]


def rows(ps: StreamTables, name: str) -> Rows:
    return sorted((tuple(row) for row in ps.table(name).collect()), key=repr)


def folders(ps: StreamTables) -> set[Path]:
    return {log.parent for log in (ps.path / "stream_tables").rglob("_delta_log")}


def storage(ps: StreamTables, name: str) -> str:
    return str(ps.info(name)[0]["path"])


def version(ps: StreamTables, name: str) -> int:
    return int(DeltaTable(storage(ps, name)).version())


def actions(ps: StreamTables, name: str) -> list[dict[str, Any]]:
    """The newest commit of a stream table's storage."""
    log = Path(storage(ps, name)) / "_delta_log" / f"{version(ps, name):020d}.json"
    return [json.loads(line) for line in log.read_text().splitlines()]


def feed(ps: StreamTables, name: str, since: int) -> Rows:
    """The storage's change feed after a version: visible columns and weight, then the kind of change."""
    found = DeltaTable(storage(ps, name)).load_cdf(starting_version=since + 1)
    table = pa.table(found.read_all()) if hasattr(found, "read_all") else pa.table(found)
    shown = [each for each in table.column_names if not each.startswith(("__ps_", "_commit"))]
    return sorted((tuple(row[each] for each in shown) for row in table.to_pylist()), key=repr)


@pytest.fixture
def orders(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, region STRING, amount DECIMAL(12,2));
        INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20), (3, 'north', 5)""")
    return ps


REVENUE = "SELECT region, sum(amount) AS total FROM orders GROUP BY region"


# -- what is refused, before anything is made


@pytest.fixture(scope="module")
def settled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamTables]:
    with warehouse(spark, tmp_path_factory.mktemp("settled"), "settled") as ps:
        ps.sql("""
            CREATE TABLE orders (id INT, region STRING, amount DECIMAL(12,2));
            INSERT INTO orders VALUES (1, 'north', 10);
            CREATE VIEW big AS SELECT * FROM orders WHERE amount > 5;
            CREATE STREAM TABLE kept AS SELECT id FROM orders""")
        yield ps


@pytest.mark.parametrize(
    ("name", "query", "options", "error", "says"),
    [
        ("a.b.c.d", "SELECT id FROM orders", {}, InvalidName, "more than three parts"),
        ("", "SELECT id FROM orders", {}, InvalidName, "empty"),
        ("odd name", "SELECT id FROM orders", {}, InvalidName, "unexpected ' '"),
        ("`quoted, odd`", "SELECT id FROM orders", {}, InvalidName, "letters, digits"),
        ("`open", "SELECT id FROM orders", {}, InvalidName, "badly quoted"),
        ("`../up`", "SELECT id FROM orders", {}, InvalidName, "slashes"),
        ("__ps_mine", "SELECT id FROM orders", {}, InvalidName, "reserved"),
        ("orders", "SELECT id FROM orders", {}, TableExists, "as a table"),
        ("orders", "SELECT id FROM orders", {"or_replace": True}, TableExists, "as a table"),
        ("Orders", "SELECT id FROM orders", {"if_not_exists": True}, TableExists, "as a table"),
        ("big", "SELECT id FROM orders", {}, TableExists, "as a view"),
        ("KEPT", "SELECT id FROM orders", {}, TableExists, "as a stream table"),
        ("nowhere.st", "SELECT id FROM orders", {}, SchemaNotFound, "nowhere"),
        ("st", "SELECT id FROM orders", {"target_lag": "soon"}, InvalidTargetLag, "number and a unit"),
        ("st", "SELECT id FROM orders", {"target_lag": ""}, InvalidTargetLag, "empty"),
        ("st", "SELECT id FROM orders", {"target_lag": "0 seconds"}, InvalidTargetLag, "zero"),
        ("st", "SELECT id FROM orders", {"target_lag": "-1 minute"}, InvalidTargetLag, "negative"),
        ("st", "SELECT id FROM orders", {"target_lag": timedelta(minutes=-1)}, InvalidTargetLag, "negative"),
        ("st", "SELECT id FROM orders", {"target_lag": "59 seconds"}, InvalidTargetLag, "smallest allowed is 1 minute"),
        ("st", "SELECT id FROM orders", {"refresh_mode": "SOMETIMES"}, InvalidMode, "AUTO, INCREMENTAL, FULL"),
        ("st", "", {}, QueryInvalid, "empty"),
        ("st", "SELEC id FROM orders", {}, QueryInvalid, "SELEC"),
        ("st", "SELECT nothing FROM orders", {}, QueryInvalid, "nothing"),
        ("st", "SELECT id FROM nowhere.orders", {}, QueryInvalid, "nowhere"),
        ("st", "SELECT * FROM st", {}, QueryInvalid, "st"),
        ("st", "DELETE FROM orders", {}, QueryInvalid, "DELETE changes data"),
        ("st", "WITH a AS (SELECT 1) INSERT INTO orders SELECT 1, 'x', 1", {}, QueryInvalid, "changes data"),
        ("st", "DROP TABLE orders", {}, QueryInvalid, "DROP changes definitions"),
        ("st", "SELECT 1; SELECT 2", {}, QueryInvalid, "2 statements"),
        ("st", "SELECT id, amount AS ID FROM orders", {}, UnstorableColumn, "ID"),
        ("st", "SELECT o.id, p.id FROM orders o JOIN orders p ON o.id = p.id", {}, UnstorableColumn, "id"),
        ("st", "SELECT id AS __ps_weight FROM orders", {}, UnstorableColumn, "__ps_weight"),
        ("st", "SELECT id, NULL AS gone FROM orders", {}, UnstorableColumn, "gone"),
        ("st", "SELECT id FROM orders", {"key": ["region"]}, PenstockError, "region"),
        (
            "st",
            "SELECT id, rand() AS r FROM orders",
            {"refresh_mode": "incremental"},
            NotIncremental,
            "NON_DETERMINISTIC",
        ),
        ("st", "SELECT current_user() AS u, id FROM orders", {"refresh_mode": "INCREMENTAL"}, NotIncremental, "CLOCK"),
        ("st", "SELECT id FROM orders TABLESAMPLE (10 PERCENT)", {"refresh_mode": "INCREMENTAL"}, NotIncremental, ""),
        ("st", "SELECT 1 / (id - 1) AS x FROM orders", {}, QueryFailed, "DIVIDE_BY_ZERO"),
    ],
)
def test_a_refused_create_leaves_nothing(
    settled: StreamTables, name: str, query: str, options: dict[str, Any], error: type[PenstockError], says: str
) -> None:
    def world() -> tuple[Any, ...]:
        tables = sorted(row.tableName for row in settled.spark.sql("SHOW TABLES").collect())
        return tables, [row["name"] for row in settled.info()], folders(settled), settled.history(max_rows=100)

    before = world()
    with pytest.raises(error) as refused:
        settled.create_stream_table(name, query, **options)
    assert says in str(refused.value)
    assert world() == before


def test_a_misspelt_statement_in_a_script_runs_none_of_it(settled: StreamTables) -> None:
    with pytest.raises(InvalidStatement):
        settled.sql("CREATE TABLE early (id INT); CREATE STREAM TABLE st TARGET LAGG '1 minute' AS SELECT 1")
    assert not settled.spark.catalog.tableExists("early")


def test_a_script_that_fails_half_way_carries_a_note_of_how_far_it_came(settled: StreamTables) -> None:
    with pytest.raises(Exception, match="nope") as failed:
        settled.sql("CREATE TABLE begun (id INT);\nSELECT nope FROM begun;\nDROP TABLE begun")
    (note,) = failed.value.__notes__
    assert note.splitlines() == [
        "Statement 2 of 3 failed (line 2): SELECT nope FROM begun",
        "Done before it, and kept:",
        "  line 1: CREATE TABLE begun (id INT)",
        "Not run: the statement after it.",
    ]
    settled.sql("DROP TABLE begun")


@pytest.mark.parametrize(
    "written", ["CREATE STREAM TABLE st", "CREATE OR REPLACE STREAM TABLE kept", "ALTER STREAM TABLE kept"]
)
def test_a_definition_that_fails_does_not_say_that_a_refresh_helps(settled: StreamTables, written: str) -> None:
    with pytest.raises(QueryFailed) as failed:
        settled.sql(f"{written} AS SELECT 1 / (id - 1) AS x FROM orders")
    assert failed.value.advice == "Nothing was changed. Mend the data or the query, then run the statement again."


def test_a_key_that_is_no_column_is_told_with_the_columns_there_are(settled: StreamTables) -> None:
    with pytest.raises(KeyColumnMissing) as refused:
        settled.sql("CREATE STREAM TABLE st KEY (regon) AS SELECT id, region FROM orders")
    assert refused.value.advice == "Did you mean region? The columns are: id, region."


def test_what_spark_says_of_a_query_is_told_in_a_sentence_with_its_place(settled: StreamTables) -> None:
    for query, why, place, fix in (
        (
            "SELECT id FROM ordrs",
            "cannot be found [TABLE_OR_VIEW_NOT_FOUND]",
            "(line 1, column 16)",
            "Did you mean orders?",
        ),
        ("SELECT regon FROM orders", "cannot be resolved [UNRESOLVED_COLUMN", "(line 1, column 8)", "`region`"),
        ("SELECT (id FROM orders", "[PARSE_SYNTAX_ERROR]", "(line 1, column 12)", "Mend the query"),
    ):
        for ask in (settled.explain, lambda text: settled.sql(f"CREATE STREAM TABLE st AS {text}")):
            with pytest.raises(QueryInvalid) as refused:
                ask(query)
            assert why in refused.value.text
            assert place in refused.value.text
            assert fix in refused.value.advice
            assert not [
                word for word in ("SQLSTATE", "Search path", "DROP VIEW IF EXISTS") if word in str(refused.value)
            ]


def test_a_temporary_view_is_told_to_be_one(settled: StreamTables) -> None:
    settled.sql("""
        CREATE TEMPORARY VIEW passing AS SELECT id FROM orders;
        CREATE GLOBAL TEMPORARY VIEW shared AS SELECT id FROM orders""")
    try:
        for name in ("passing", "global_temp.shared"):
            with pytest.raises(QueryInvalid, match=f"{name} is a temporary view, which ends with this session"):
                settled.sql(f"CREATE STREAM TABLE st AS SELECT * FROM {name}")
        settled.create_stream_table("st", settled.spark.table("passing"))
        settled.drop_stream_table("st")
    finally:
        settled.sql("DROP VIEW passing; DROP VIEW global_temp.shared")


def test_a_temporary_view_that_hides_a_table_is_told_to(settled: StreamTables) -> None:
    settled.spark.sql("CREATE TEMPORARY VIEW Orders AS SELECT id FROM range(5)")
    settled.spark.sql("CREATE TEMPORARY VIEW kept AS SELECT id FROM range(5)")
    try:
        for name, kind in (("orders", "table"), ("KEPT", "stream table")):
            query = f"SELECT count(*) AS n FROM (SELECT * FROM {name})"
            for asked in ("CREATE STREAM TABLE st AS", "ALTER STREAM TABLE kept AS", "EXPLAIN STREAM TABLE"):
                with pytest.raises(QueryInvalid, match=f"{name} is a temporary view .* hides a {kind}") as refused:
                    settled.sql(f"{asked} {query}")
                assert f"`settled`.`{name}`" in refused.value.advice
        # In a WITH it is another name, and with its schema it is the table.
        settled.sql("""CREATE STREAM TABLE st AS
            WITH orders AS (SELECT id FROM settled.orders) SELECT count(*) AS n FROM orders""")
        assert settled.table("st").collect() == [(1,)]
        # The view is younger than the definition: what is refreshed is the table.
        settled.create_stream_table("other", settled.spark.table("settled.kept"))
        for made in ("st", "other"):
            settled.refresh(made)
            assert_exact(settled, made)
            settled.drop_stream_table(made)
        assert settled.table("kept").count() == 1
    finally:
        for name in ("orders", "kept"):
            settled.spark.catalog.dropTempView(name)


def test_a_refused_name_is_answered_with_one_that_is_accepted(settled: StreamTables) -> None:
    for written, meant in [("`my table!`", "my_table"), ("`-`", "my_table")]:
        with pytest.raises(InvalidName) as refused:
            settled.sql(f"CREATE STREAM TABLE {written} AS SELECT id FROM orders")
        assert refused.value.advice == f"Choose a name such as {meant}."


def test_what_is_no_stream_table_is_told_to_be_another_thing(settled: StreamTables) -> None:
    with pytest.raises(StreamTableNotFound) as missing:
        settled.sql("REFRESH STREAM TABLE orders")
    assert missing.value.advice == "It is a table. See them all with: SHOW STREAM TABLES"


def test_unknown_stream_tables_are_named_with_the_nearest(settled: StreamTables) -> None:
    for call in (settled.refresh, settled.audit, settled.explain, settled.table, settled.drop_stream_table):
        with pytest.raises(StreamTableNotFound, match=r"settled\.kep\b") as missing:
            call("kep")
        assert missing.value.advice == "Did you mean kept?"
    assert settled.drop_stream_table("kep", if_exists=True) == []


# -- cycles


def test_cycles_are_refused_with_their_path(orders: StreamTables) -> None:
    orders.sql("""
        CREATE STREAM TABLE a AS SELECT id, region FROM orders;
        CREATE STREAM TABLE b AS SELECT id, region FROM a;
        CREATE VIEW of_b AS SELECT * FROM b""")
    before = orders.info("a")[0]["definition_hash"], version(orders, "a")
    for statement, path in [
        ("ALTER STREAM TABLE a AS SELECT id, region FROM b", "shop.a → shop.b → shop.a"),
        ("CREATE OR REPLACE STREAM TABLE a AS SELECT id, region FROM b", "shop.a → shop.b → shop.a"),
        ("ALTER STREAM TABLE a AS SELECT id, region FROM of_b", "shop.a → shop.b → shop.a"),
        ("ALTER STREAM TABLE a AS SELECT * FROM a", "shop.a → shop.a"),
        ("ALTER STREAM TABLE a AS SELECT id, region FROM orders WHERE id IN (SELECT id FROM b)", "shop.a → shop.b"),
    ]:
        with pytest.raises(CycleInGraph) as refused:
            orders.sql(statement)
        assert path in str(refused.value)
        assert (orders.info("a")[0]["definition_hash"], version(orders, "a")) == before


def test_a_redefined_view_cannot_close_a_circle(orders: StreamTables) -> None:
    orders.sql("""
        CREATE VIEW v AS SELECT id, region FROM orders;
        CREATE STREAM TABLE a AS SELECT id, region FROM v;
        CREATE STREAM TABLE b AS SELECT id, region FROM a;
        CREATE OR REPLACE VIEW v AS SELECT id, region FROM b;
        INSERT INTO orders VALUES (9, 'east', 1)""")
    held = rows(orders, "a")
    with pytest.raises(CycleInGraph, match=r"shop\.a → shop\.b → shop\.a"):
        orders.refresh("a")
    assert rows(orders, "a") == held
    assert orders.info("a")[0]["status"] == "ERROR"
    orders.sql("CREATE OR REPLACE VIEW v AS SELECT id, region FROM orders")
    orders.refresh("a")
    orders.refresh("b")
    assert_exact(orders, "a")
    assert_exact(orders, "b")


# -- creating, replacing, altering, dropping


def test_create_tells_what_it_made(orders: StreamTables) -> None:
    made = orders.create_stream_table("revenue", REVENUE, "5m")
    assert (made.name, made.created, made.effective_mode, made.reason) == ("shop.revenue", True, "INCREMENTAL", None)
    assert made.refresh is not None
    assert (made.refresh.action, made.refresh.reason_code, made.refresh.rows_inserted) == ("FULL", "FIRST_FILL", 2)
    assert_exact(orders, "revenue", "FULL")
    again = orders.sql("CREATE STREAM TABLE IF NOT EXISTS revenue AS SELECT 1 AS other")
    assert again.message == "stream table shop.revenue unchanged, maintained INCREMENTAL"
    assert orders.info("revenue")[0]["query"] == REVENUE

    by_user = orders.create_stream_table("mine", "SELECT current_user() AS who, count(*) AS n FROM orders")
    assert by_user.effective_mode == "FULL"
    assert "CLOCK" in str(orders.info("mine")[0]["reason"]) or by_user.reason


def test_initialize_on_schedule_fills_at_the_first_refresh(orders: StreamTables) -> None:
    orders.sql("CREATE STREAM TABLE later INITIALIZE ON SCHEDULE AS SELECT id FROM orders")
    assert orders.info("later")[0]["status"] == "INITIALIZING"
    assert rows(orders, "later") == []
    assert orders.history("later") == []
    [ticked] = orders.tick()
    assert (ticked.action, ticked.reason_code, ticked.rows_inserted) == ("FULL", "FIRST_FILL", 3)
    assert orders.info("later")[0]["status"] == "ACTIVE"
    assert_exact(orders, "later", "FULL")


def test_create_or_replace_keeps_an_unchanged_table_and_rebuilds_a_changed_one(orders: StreamTables) -> None:
    create = f"CREATE OR REPLACE STREAM TABLE revenue TARGET LAG '5 minutes' AS {REVENUE}"
    assert orders.sql(create).message == "stream table shop.revenue created, maintained INCREMENTAL"
    orders.create_stream_table("reader", "SELECT total FROM revenue")
    before = orders.info("revenue")[0]
    at = version(orders, "revenue")

    assert orders.sql(create).message == "stream table shop.revenue unchanged, maintained INCREMENTAL"
    assert orders.info("revenue")[0]["table_id"] == before["table_id"]
    assert version(orders, "revenue") == at

    orders.sql("CREATE OR REPLACE STREAM TABLE revenue AS SELECT region, count(*) AS total FROM orders GROUP BY region")
    after = orders.info("revenue")[0]
    assert (after["table_id"], after["path"]) == (before["table_id"], before["path"])
    assert orders.history("revenue")[0].action == "REINITIALIZE"
    assert_exact(orders, "revenue")
    assert ("total", "bigint") in orders.table("revenue").dtypes
    orders.refresh("reader")
    assert_exact(orders, "reader")
    assert ("total", "bigint") in orders.table("reader").dtypes


def test_alter_changes_what_is_given_and_nothing_else(orders: StreamTables) -> None:
    orders.create_stream_table("revenue", REVENUE, "5m")
    at = DeltaTable(storage(orders, "revenue")).load_cdf(starting_version=0)

    def look() -> tuple[Any, ...]:
        info = orders.info("revenue")[0]
        return info["target_lag"], info["refresh_mode"], info["status"], info["query"]

    assert look() == ("5 minutes", "AUTO", "ACTIVE", REVENUE)
    orders.sql("ALTER STREAM TABLE revenue SET TARGET LAG '2 hours'")
    assert look() == ("2 hours", "AUTO", "ACTIVE", REVENUE)
    orders.sql("ALTER STREAM TABLE revenue SET REFRESH MODE FULL")
    assert look() == ("2 hours", "FULL", "ACTIVE", REVENUE)
    orders.sql("ALTER STREAM TABLE revenue SET TARGET LAG DOWNSTREAM")
    assert look() == ("DOWNSTREAM", "FULL", "ACTIVE", REVENUE)
    orders.sql("ALTER STREAM TABLE revenue SUSPEND")
    assert look()[2] == "SUSPENDED"
    orders.sql("ALTER STREAM TABLE revenue RESUME")
    assert look()[2] == "ACTIVE"
    for wrong in ({"target_lag": "1 second"}, {"refresh_mode": "never"}, {"status": "ERROR"}, {"status": "gone"}):
        held = look()
        with pytest.raises((InvalidTargetLag, InvalidMode)):
            orders.alter_stream_table("revenue", **wrong)  # type: ignore[arg-type]
        assert look() == held
    assert at is not None

    orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
    assert orders.refresh("revenue").reason_code == "AS_ASKED"
    orders.alter_stream_table("revenue", refresh_mode="incremental", target_lag="90 seconds")
    orders.sql("INSERT INTO orders VALUES (5, 'east', 1)")
    assert orders.refresh("revenue").action == "INCREMENTAL"
    assert_exact(orders, "revenue")

    orders.sql("CREATE STREAM TABLE dice AS SELECT id, rand() AS r FROM orders")
    with pytest.raises(NotIncremental, match="NON_DETERMINISTIC"):
        orders.sql("ALTER STREAM TABLE dice SET REFRESH MODE INCREMENTAL")
    assert orders.info("dice")[0]["refresh_mode"] == "AUTO"


def test_alter_as_gives_another_query_and_a_bad_one_changes_nothing(orders: StreamTables) -> None:
    orders.create_stream_table("st", "SELECT id FROM orders")
    with pytest.raises(QueryInvalid):
        orders.sql("ALTER STREAM TABLE st AS SELECT nothing FROM orders")
    assert_exact(orders, "st", "FULL")
    orders.sql("ALTER STREAM TABLE st AS SELECT region, amount * 2 AS twice FROM orders")
    assert orders.info("st")[0]["query"] == "SELECT region, amount * 2 AS twice FROM orders"
    assert_exact(orders, "st", "REINITIALIZE")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
    assert orders.refresh("st").action == "INCREMENTAL"
    assert_exact(orders, "st")


def test_drop_refuses_while_others_read_and_cascades_in_order(orders: StreamTables) -> None:
    orders.sql("""
        CREATE STREAM TABLE a AS SELECT id, region FROM orders;
        CREATE STREAM TABLE b AS SELECT id FROM a;
        CREATE STREAM TABLE c AS SELECT count(*) AS n FROM b""")
    assert len(folders(orders)) == 3
    with pytest.raises(HasConsumers, match=r"shop\.a is read by shop\.b"):
        orders.sql("DROP STREAM TABLE a")
    assert rows(orders, "c") == [(3,)]
    assert orders.drop_stream_table("a", cascade=True) == ["shop.c", "shop.b", "shop.a"]
    assert folders(orders) == set()
    assert orders.info() == []
    assert orders.history() == []
    assert [row.tableName for row in orders.spark.sql("SHOW TABLES").collect()] == ["orders"]
    orders.sql("CREATE STREAM TABLE a AS SELECT id FROM orders")
    assert_exact(orders, "a", "FULL")


def test_a_suspended_table_is_left_alone_unless_asked_for(orders: StreamTables) -> None:
    orders.sql("""
        CREATE STREAM TABLE up AS SELECT id, region FROM orders;
        CREATE STREAM TABLE down AS SELECT region, count(*) AS n FROM up GROUP BY region;
        ALTER STREAM TABLE up SUSPEND;
        INSERT INTO orders VALUES (4, 'east', 1)""")
    held = rows(orders, "down")
    skipped = orders.refresh("down")
    assert (skipped.action, skipped.reason_code) == ("SKIP", "UPSTREAM_BLOCKED")
    assert skipped.reason.startswith("waiting for shop.up, see ")
    assert rows(orders, "down") == held
    assert [(each.action, each.status) for each in orders.history("down", 1)] == [("SKIP", "SKIPPED")]
    assert orders.info("down")[0]["skip_count"] == 1

    by_hand = orders.refresh("up")
    assert by_hand.action == "INCREMENTAL"
    assert orders.info("up")[0]["status"] == "SUSPENDED"
    assert_exact(orders, "up")
    later = datetime.now(UTC) + timedelta(minutes=5)
    assert [each.name for each in orders.tick(later) if each.action != "SKIP"] == []
    orders.alter_stream_table("up", status="active")
    done = orders.refresh("down")
    assert done.action == "INCREMENTAL"
    assert [each.name for each in done.upstream] == ["shop.up"]
    assert_exact(orders, "down")


# -- keys and names


def test_a_declared_key_is_checked_at_fill_and_at_refresh(orders: StreamTables) -> None:
    with pytest.raises(KeyViolated, match="north"):
        orders.sql("CREATE STREAM TABLE by_region KEY (region) AS SELECT region, amount FROM orders")
    assert orders.info() == []
    assert folders(orders) == set()

    orders.sql("CREATE STREAM TABLE by_id KEY (id) AS SELECT id, region, amount FROM orders")
    orders.sql("UPDATE orders SET amount = 11 WHERE id = 1; DELETE FROM orders WHERE id = 2")
    assert orders.refresh("by_id").action == "INCREMENTAL"
    assert_exact(orders, "by_id")
    held, at = rows(orders, "by_id"), version(orders, "by_id")
    orders.sql("INSERT INTO orders VALUES (3, 'twice', 1), (7, 'new', 1)")
    with pytest.raises(KeyViolated, match=r"KEY \(id\)"):
        orders.refresh("by_id")
    assert (rows(orders, "by_id"), version(orders, "by_id")) == (held, at)
    failed = orders.history("by_id", 1)[0]
    assert (failed.status, failed.commit_version) == ("FAILED", None)
    assert "KEY_VIOLATED" in str(failed.error_message)
    orders.sql("DELETE FROM orders WHERE region = 'twice'")
    assert orders.refresh("by_id").action == "INCREMENTAL"
    assert_exact(orders, "by_id")


def test_odd_column_names_survive_every_path(ps: StreamTables) -> None:
    odd = ("two words", "dot.ted", "back`tick", "größe", "sum(amount)", "a,b;c={}", "select")
    quoted = ["`" + name.replace("`", "``") + "`" for name in odd]
    columns = ", ".join(f"{name} INT" for name in quoted)
    mapping = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    ps.sql(f"CREATE TABLE src ({columns}) {mapping}")
    ps.sql("INSERT INTO src VALUES (1,2,3,4,5,6,7), (1,2,3,4,5,6,7), (8,9,10,11,12,13,14)")
    ps.create_stream_table("bag", f"SELECT {', '.join(quoted)} FROM src")
    ps.create_stream_table(
        "agg", f"SELECT {quoted[0]}, sum({quoted[1]}), max({quoted[2]}) FROM src GROUP BY {quoted[0]}"
    )
    ps.create_stream_table("next", "SELECT `sum(dot.ted)` + 1 AS `x y`, `two words` FROM agg")
    assert ps.table("bag").columns == list(odd)
    assert ps.table("agg").columns == ps.spark.sql(str(ps.info("agg")[0]["query"])).columns
    ps.sql("INSERT INTO src VALUES (1,0,9,4,5,6,7), (20,1,1,1,1,1,1); DELETE FROM src WHERE `two words` = 8")
    for name in ("bag", "agg", "next"):
        assert ps.refresh(name).action in {"INCREMENTAL", "NO_DATA"}
        assert_exact(ps, name, context=name)
    assert ps.audit("bag").exact
    assert ps.audit("agg").exact


def test_generated_names_and_types_are_those_of_spark(orders: StreamTables) -> None:
    query = "SELECT region, count(*), sum(amount), avg(amount), max(id) + 1, upper(region) FROM orders GROUP BY region"
    orders.create_stream_table("st", query)
    assert orders.table("st").dtypes == orders.spark.sql(query).dtypes
    hidden = [name for name in DeltaTable(storage(orders, "st")).schema().to_arrow().names if name.startswith("__ps_")]
    assert hidden
    assert not [name for name in orders.spark.sql("SELECT * FROM st").columns if name.startswith("__ps_")]


def test_names_in_other_schemas(orders: StreamTables) -> None:
    orders.sql("CREATE SCHEMA reports")
    try:
        orders.sql("CREATE STREAM TABLE reports.Daily_Sums AS SELECT region, count(*) AS n FROM orders GROUP BY region")
        orders.sql("CREATE STREAM TABLE top AS SELECT max(n) AS most FROM reports.daily_sums")
        orders.sql("USE reports")
        orders.sql("INSERT INTO shop.orders VALUES (4, 'north', 1)")
        assert [each.name for each in orders.refresh("shop.top").upstream] == ["reports.daily_sums"]
        assert rows(orders, "shop.top") == [(3,)]
        assert orders.audit("daily_sums").exact
        assert orders.audit("shop.top").exact
        assert orders.drop_stream_table("daily_sums", cascade=True) == ["shop.top", "reports.daily_sums"]
    finally:
        orders.sql("USE shop; DROP SCHEMA reports CASCADE")


# -- looking


def test_status_info_graph_and_history_tell_what_is(orders: StreamTables) -> None:
    orders.sql("""
        CREATE VIEW north AS SELECT * FROM orders WHERE region = 'north';
        CREATE STREAM TABLE up TARGET LAG DOWNSTREAM AS SELECT region, amount FROM north;
        CREATE STREAM TABLE down TARGET LAG '10 minutes' AS SELECT sum(amount) AS total FROM up;
        INSERT INTO orders VALUES (4, 'north', 7)""")
    orders.refresh("down")
    orders.refresh("down")

    up, down = sorted(orders.status(), key=lambda row: row.name, reverse=True)
    assert (up.name, up.status, up.target_lag, up.effective_lag) == (
        "shop.up",
        "ACTIVE",
        "DOWNSTREAM",
        timedelta(minutes=10),
    )
    assert (down.name, down.refresh_mode, down.effective_mode, down.errors) == ("shop.down", "AUTO", "INCREMENTAL", 0)
    assert down.current_lag is not None
    assert timedelta(0) <= down.current_lag < timedelta(minutes=10)
    assert not down.lag_exceeded

    info = orders.info("up")[0]
    assert [(each["name"], each["type"], each["columns_used"]) for each in info["sources"]] == [
        ("shop.orders", "TABLE", ["amount", "region"]),
        ("spark_catalog.shop.north", "VIEW", []),
    ]
    assert info["sources"][0]["id"] in info["frontier"]["sources"]
    assert info["refresh_count"] == 4
    assert (info["rows_inserted_total"], info["rows_deleted_total"]) == (3, 0)
    assert info["frontier"]["data_timestamp"] == orders.info("down")[0]["frontier"]["data_timestamp"]

    assert ("shop.down", "shop.up", "STREAM_TABLE") in orders.graph().edges()
    assert ("shop.up", "shop.orders", "TABLE") in orders.graph().edges()
    assert "shop.down" in orders.graph().text()

    newest_first = orders.history("down")
    assert [each.action for each in newest_first] == ["NO_DATA", "INCREMENTAL", "FULL"]
    assert [each.status for each in newest_first] == ["COMPLETED"] * 3
    middle = newest_first[1]
    assert (middle.rows_inserted, middle.rows_deleted) == (1, 1)
    assert middle.commit_version is not None
    assert middle.from_frontier is not None
    assert middle.to_frontier is not None
    assert middle.from_frontier <= middle.to_frontier
    assert len(orders.history(max_rows=2)) == 2

    shown = orders.sql("SHOW STREAM TABLES LIKE 'do*'")
    assert [row[0] for row in shown.rows] == ["shop.down"]
    assert orders.sql("DESCRIBE HISTORY STREAM TABLE down LIMIT 1").rows[0][1] == "NO_DATA"


def test_tick_refreshes_what_is_due_and_no_more(orders: StreamTables) -> None:
    orders.create_stream_table("often", "SELECT id FROM orders", "1 minute")
    # Its grid is so wide that hardly any moment falls between two minutes.
    orders.create_stream_table("seldom", "SELECT region FROM orders", "1000 days")
    orders.create_stream_table("never", "SELECT amount FROM orders", "1 minute")
    orders.alter_stream_table("never", status="SUSPENDED")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
    now = datetime.now(UTC)
    assert [(each.name, each.action) for each in orders.tick(now + timedelta(minutes=2))] == [
        ("shop.often", "INCREMENTAL")
    ]
    assert orders.tick(now + timedelta(minutes=2)) == []
    assert_exact(orders, "often")
    ticked = orders.tick(now + timedelta(days=2000))
    assert {each.name: each.action for each in ticked} == {"shop.often": "NO_DATA", "shop.seldom": "INCREMENTAL"}
    assert_exact(orders, "seldom")
    assert orders.info("often")[0]["data_timestamp"] == now + timedelta(days=2000)


def test_an_error_of_one_table_does_not_stop_the_others_of_a_tick(orders: StreamTables) -> None:
    orders.create_stream_table("bad", "SELECT 1 / amount AS x FROM orders")
    orders.create_stream_table("good", "SELECT count(*) AS n FROM orders")
    orders.create_stream_table("reads_bad", "SELECT count(*) AS n FROM bad")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 0)")
    done = orders.tick(datetime.now(UTC) + timedelta(minutes=5))
    assert {each.name: each.action for each in done if each.error is None} == {
        "shop.good": "INCREMENTAL",
        "shop.reads_bad": "SKIP",
    }
    assert [each.name for each in done if each.error is not None] == ["shop.bad"]
    assert_exact(orders, "good")
    assert {row.name: row.status for row in orders.status()}["shop.bad"] == "ERROR"


# -- explain, audit, fresh


@pytest.mark.parametrize(
    "query",
    [
        "SELECT region, amount FROM orders",
        "SELECT region, sum(amount) AS total, count(*) AS n FROM orders GROUP BY region",
        "SELECT DISTINCT region FROM orders",
        "SELECT o.id, p.id AS other FROM orders o JOIN orders p ON o.region = p.region",
    ],
)
def test_the_explained_delta_runs_as_printed(orders: StreamTables, query: str) -> None:
    orders.create_stream_table("st", query)
    before = orders.table("st").collect()
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1), (5, 'north', 2); DELETE FROM orders WHERE id = 2")
    told = orders.explain("st")
    assert (told.mode, told.effective, told.reason_code) == ("AUTO", "INCREMENTAL", None)
    assert told.rows_changed >= 3
    *_, (_, last) = told.statements
    assert last + ";" in told.text(sql=True)
    assert "SELECT" not in told.text()
    assert f"{len(told.statements)} SQL statement" in told.text()
    visible = orders.table("st").columns
    printed = orders.spark.sql(last).collect()
    orders.refresh("st")
    after = orders.table("st").collect()
    # A row that goes away shows its key, and nothing else that could be relied on.
    kept = {tuple(row[name] for name in visible) for row in printed if row.asDict().get("__ps_op") != "d"}
    gone = {row for row in map(tuple, before) if row not in set(map(tuple, after))}
    come = {row for row in map(tuple, after) if row not in set(map(tuple, before))}
    assert come
    assert gone
    assert come <= kept
    assert kept <= {*map(tuple, before), *map(tuple, after)}


def test_a_query_can_be_explained_before_it_is_a_table(orders: StreamTables) -> None:
    told = orders.explain(REVENUE)
    assert (told.name, told.effective, told.before) == (None, "INCREMENTAL", None)
    assert told.statements
    for _, sql in told.statements:
        assert orders.spark.sql(sql).collect() == []
    refused = orders.explain("SELECT id, rand() AS r FROM orders")
    assert (refused.effective, refused.reason_code, refused.statements) == ("FULL", "NON_DETERMINISTIC", ())
    shown = [orders.sql(f"EXPLAIN {word}STREAM TABLE SELECT id FROM orders").rows for word in ("", "EXTENDED ")]
    assert ["-- delta" in str(rows) for rows in shown] == [False, True]
    assert orders.info() == []


def test_audit_catches_a_corrupted_storage_and_refresh_repairs_it(orders: StreamTables) -> None:
    orders.create_stream_table("regions", "SELECT region, id FROM orders")
    assert orders.audit("regions").exact
    path = storage(orders, "regions")
    forged = DeltaTable(path).to_pyarrow_table().slice(0, 1).to_pylist()[0] | {"region": "forged", "id": 99}
    held = DeltaTable(path).to_pyarrow_table().schema
    write_deltalake(path, pa.Table.from_pylist([forged], schema=held), mode="append")
    report = orders.audit("regions")
    assert (report.exact, report.missing_rows, report.extra_rows) == (False, 0, 1)
    assert report.samples == (("extra", {"region": "forged", "id": 99}),)
    assert orders.sql("AUDIT STREAM TABLE regions").rows[0][1] == "DIFFERS"

    done = orders.refresh("regions")
    assert (done.action, done.reason_code) == ("REINITIALIZE", "FOREIGN_WRITE")
    assert orders.audit("regions").exact
    assert_exact(orders, "regions", "REINITIALIZE")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
    assert orders.refresh("regions").action == "INCREMENTAL"
    assert_exact(orders, "regions")


def test_an_optimized_storage_is_still_ours(orders: StreamTables) -> None:
    orders.create_stream_table("regions", "SELECT region, id FROM orders")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
    orders.refresh("regions")
    orders.spark.sql(f"OPTIMIZE delta.`{storage(orders, 'regions')}`")
    orders.sql("DELETE FROM orders WHERE id IN (1, 4); INSERT INTO orders VALUES (5, 'west', 1)")
    assert orders.refresh("regions").action == "INCREMENTAL"
    assert_exact(orders, "regions")
    assert orders.audit("regions").exact


@pytest.mark.parametrize(
    "query",
    [
        REVENUE,
        "SELECT region, amount FROM orders",
        "SELECT DISTINCT region FROM orders",
        "SELECT sum(amount) AS total FROM orders",
        "SELECT region, row_number() OVER (PARTITION BY region ORDER BY id) AS n FROM orders",
    ],
)
def test_a_fresh_read_is_the_query_now_and_stores_nothing(orders: StreamTables, query: str) -> None:
    orders.create_stream_table("st", query)
    held, at = rows(orders, "st"), version(orders, "st")
    assert sorted(map(tuple, orders.table("st", fresh=True).collect()), key=repr) == held
    orders.sql("""
        INSERT INTO orders VALUES (4, 'east', 1), (5, 'north', 2), (6, NULL, NULL);
        DELETE FROM orders WHERE id = 2;
        UPDATE orders SET amount = 12 WHERE id = 1""")
    now = sorted(map(tuple, orders.spark.sql(query).collect()), key=repr)
    assert now != held
    assert sorted(map(tuple, orders.table("st", fresh=True).collect()), key=repr) == now
    assert orders.table("st", fresh=True).columns == orders.table("st").columns
    assert (rows(orders, "st"), version(orders, "st")) == (held, at)


def test_a_fresh_read_runs_the_query_where_its_delta_raises(
    orders: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*_: object) -> None:
        raise QueryFailed(name="st", why="an intermediate row overflows")

    orders.create_stream_table("st", REVENUE)
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
    monkeypatch.setattr(compute, "_delta", raising)
    now = sorted(map(tuple, orders.spark.sql(REVENUE).collect()), key=repr)
    assert sorted(map(tuple, orders.table("st", fresh=True).collect()), key=repr) == now
    assert orders.refresh("st").reason_code == "DELTA_RAISED"
    assert rows(orders, "st") == now


# -- what a refresh writes


def test_a_full_refresh_with_readers_commits_only_what_changed(orders: StreamTables) -> None:
    for name, query in {
        "keyed": REVENUE,
        "bag": "SELECT region, amount FROM orders",
    }.items():
        orders.create_stream_table(name, query, refresh_mode="FULL")
        orders.create_stream_table(f"{name}_reader", f"SELECT * FROM {name}")
    since = {name: version(orders, name) for name in ("keyed", "bag")}
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1), (5, 'east', 1); UPDATE orders SET amount = 6 WHERE id = 3")
    for name in ("keyed", "bag"):
        done = orders.refresh(f"{name}_reader")
        [upstream] = done.upstream
        assert (upstream.action, upstream.reason_code) == ("FULL", "AS_ASKED")
        assert done.action == "INCREMENTAL"
        assert_exact(orders, name)
        assert_exact(orders, f"{name}_reader")
    assert [row[:2] for row in feed(orders, "keyed", since["keyed"])] == [
        ("east", Decimal(2)),
        ("north", Decimal(15)),
        ("north", Decimal(16)),
    ]
    assert {row[:2] for row in feed(orders, "bag", since["bag"])} == {
        ("east", Decimal(1)),
        ("north", Decimal(5)),
        ("north", Decimal(6)),
    }


def test_a_full_refresh_without_readers_writes_the_table_anew(orders: StreamTables) -> None:
    orders.create_stream_table("st", REVENUE, refresh_mode="FULL")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
    done = orders.refresh("st")
    assert (done.action, done.reason_code, done.rows_inserted, done.rows_deleted) == ("FULL", "AS_ASKED", 3, 2)
    assert_exact(orders, "st")
    assert orders.refresh("st").action == "NO_DATA"


def test_a_refresh_that_changes_nothing_commits_nothing_and_moves_the_frontier(orders: StreamTables) -> None:
    orders.create_stream_table("st", REVENUE)
    at = version(orders, "st")
    [(source, stood)] = orders.info("st")[0]["frontier"]["sources"].items()
    orders.sql("INSERT INTO orders VALUES (4, 'north', 0)")
    orders.sql("DELETE FROM orders WHERE id = 4")
    done = orders.refresh("st")
    assert (done.action, done.rows_inserted, done.rows_deleted) == ("INCREMENTAL", 0, 0)
    assert version(orders, "st") == at
    assert done.frontier is not None
    assert done.frontier.version(source) == stood["version"] + 2
    assert orders.refresh("st").action == "NO_DATA"
    orders.sql("INSERT INTO orders VALUES (5, 'north', 1)")
    again = orders.refresh("st")
    assert (again.action, again.rows_inserted, again.rows_deleted) == ("INCREMENTAL", 1, 1)
    assert_exact(orders, "st")


def test_no_data_runs_no_spark_job(orders: StreamTables) -> None:
    orders.create_stream_table("st", REVENUE)
    orders.create_stream_table("down", "SELECT count(*) AS n FROM st")
    context = orders.spark.sparkContext
    context.setJobGroup("quiet", "a refresh with nothing to do")
    try:
        assert orders.refresh("down").action == "NO_DATA"
        assert list(context.statusTracker().getJobIdsForGroup("quiet")) == []
        orders.sql("OPTIMIZE orders")
        context.setJobGroup("still quiet", "only the layout of the source changed")
        assert orders.refresh("down").action == "NO_DATA"
        assert list(context.statusTracker().getJobIdsForGroup("still quiet")) == []
        orders.sql("INSERT INTO orders VALUES (4, 'east', 1)")
        context.setJobGroup("busy", "a refresh with something to do")
        assert orders.refresh("down").action == "INCREMENTAL"
        # Spark tells of jobs a little later.
        deadline = time.monotonic() + 60
        while not list(context.statusTracker().getJobIdsForGroup("busy")):
            assert time.monotonic() < deadline, "no job"
            time.sleep(0.1)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_inserts_into_a_bag_are_a_blind_append(orders: StreamTables) -> None:
    orders.create_stream_table("st", "SELECT region, amount * 2 AS twice FROM orders WHERE amount > 1")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 3), (5, 'north', 5), (6, 'none', 1)")
    done = orders.refresh("st")
    assert (done.action, done.rows_inserted, done.rows_deleted) == ("INCREMENTAL", 2, 0)
    kinds = {kind for action in actions(orders, "st") for kind in action}
    assert "add" in kinds
    assert not kinds & {"remove", "cdc"}
    assert_exact(orders, "st")
    orders.sql("DELETE FROM orders WHERE id = 4; INSERT INTO orders VALUES (7, 'north', 5)")
    orders.refresh("st")
    assert "remove" in {kind for action in actions(orders, "st") for kind in action}
    assert_exact(orders, "st")


@pytest.mark.slow
def test_both_appliers_give_equal_tables_and_feeds(spark: SparkSession, tmp_path: Path) -> None:
    queries = {
        "joined": "SELECT o.id, c.city, o.amount FROM orders o JOIN cities c ON o.region = c.region",
        "grouped": "SELECT region, sum(amount) AS total, count(*) AS n FROM orders GROUP BY region",
        "distinct_regions": "SELECT DISTINCT region FROM orders",
    }
    told: dict[str, Any] = {}
    for applier in ("delta-rs", "spark"):
        with warehouse(spark, tmp_path / applier, apply=applier) as ps:
            ps.sql("""
                CREATE TABLE orders (id INT, region STRING, amount INT);
                CREATE TABLE cities (region STRING, city STRING);
                INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20), (3, NULL, 5), (3, NULL, 5);
                INSERT INTO cities VALUES ('north', 'Oslo'), ('north', 'Oslo'), ('south', 'Rome')""")
            for name, query in queries.items():
                ps.create_stream_table(name, query)
            start = {name: version(ps, name) for name in queries}
            for change in (
                "INSERT INTO orders VALUES (4, 'north', 1); INSERT INTO cities VALUES ('south', 'Bari')",
                "UPDATE orders SET region = 'west' WHERE id = 2; DELETE FROM orders WHERE region IS NULL;"
                "DELETE FROM cities WHERE city = 'Rome'",
            ):
                ps.sql(change)
                for name in queries:
                    done = ps.refresh(name)
                    assert done.action == "INCREMENTAL"
                    assert done.applier in {applier, None}
                    assert_exact(ps, name, context=f"{applier} {change}")
            assert all(ps.audit(name).exact for name in queries)
            told[applier] = {
                name: (
                    rows(ps, name),
                    [(each.rows_inserted, each.rows_deleted) for each in ps.history(name)],
                    feed(ps, name, start[name]),
                )
                for name in queries
            }
    assert told["delta-rs"] == told["spark"]


# -- settings and errors


def test_a_stream_table_keeps_the_settings_it_was_made_under(ps: StreamTables) -> None:
    ps.spark.conf.set("spark.sql.session.timeZone", "UTC")
    ps.sql("""
        CREATE TABLE events (at TIMESTAMP, n INT, text STRING);
        INSERT INTO events VALUES (TIMESTAMP '2024-03-31 23:30:00Z', 1, '1')""")
    ps.create_stream_table("days", "SELECT date(at) AS day, sum(n) AS n FROM events GROUP BY date(at)")
    ps.create_stream_table("numbers", "SELECT CAST(text AS INT) AS number FROM events")
    ps.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    ps.spark.conf.set("spark.sql.ansi.enabled", "false")
    ps.sql("INSERT INTO events VALUES (TIMESTAMP '2024-03-31 22:30:00Z', 2, '2')")
    assert ps.refresh("days").action == "INCREMENTAL"
    assert [(str(day), n) for day, n in rows(ps, "days")] == [("2024-03-31", 3)]
    assert ps.audit("days").exact
    assert [str(row.day) for row in ps.table("days", fresh=True).collect()] == ["2024-03-31"]
    assert ps.refresh("numbers").action == "INCREMENTAL"
    ps.sql("INSERT INTO events VALUES (NULL, 3, 'three')")
    with pytest.raises(QueryFailed, match="CAST_INVALID_INPUT"):
        ps.refresh("numbers")
    assert rows(ps, "numbers") == [(1,), (2,)]
    ps.create_stream_table("lenient", "SELECT CAST(text AS INT) AS number FROM events")
    assert rows(ps, "lenient") == [(1,), (2,), (None,)]
    assert ps.spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, 100 / amount AS share FROM orders",
        "SELECT region, sum(100 / amount) AS s FROM orders GROUP BY region",
    ],
)
def test_a_query_that_raises_leaves_the_rows_and_recovers(orders: StreamTables, query: str) -> None:
    orders.create_stream_table("st", query)
    held, at = rows(orders, "st"), version(orders, "st")
    orders.sql("INSERT INTO orders VALUES (4, 'east', 0)")
    with pytest.raises(QueryFailed, match="DIVIDE_BY_ZERO"):
        orders.refresh("st")
    assert (rows(orders, "st"), version(orders, "st")) == (held, at)
    info = orders.info("st")[0]
    assert (info["status"], info["consecutive_errors"]) == ("ERROR", 1)
    assert "DIVIDE_BY_ZERO" in info["last_error"]
    assert [each.status for each in orders.history("st")] == ["FAILED", "COMPLETED"]
    orders.sql("UPDATE orders SET amount = 8 WHERE id = 4")
    assert orders.refresh("st").action == "INCREMENTAL"
    assert_exact(orders, "st")
    info = orders.info("st")[0]
    assert (info["status"], info["consecutive_errors"], info["last_error"]) == ("ACTIVE", 0, None)


def test_a_row_that_came_and_went_within_the_interval_does_not_fail(orders: StreamTables) -> None:
    orders.sql("CREATE TABLE rates (region STRING, rate INT); INSERT INTO rates VALUES ('north', 2), ('south', 4)")
    orders.create_stream_table("own", "SELECT id, 100 / amount AS share FROM orders")
    orders.create_stream_table(
        "joined", "SELECT o.id, 100 DIV (r.rate - o.id) AS x FROM orders o JOIN rates r ON o.region = r.region"
    )
    orders.sql("INSERT INTO orders VALUES (4, 'east', 0)")
    orders.sql("DELETE FROM orders WHERE id = 4")
    orders.sql("INSERT INTO orders VALUES (5, 'south', 5)")
    assert orders.refresh("own").action == "INCREMENTAL"
    assert_exact(orders, "own")
    # Both sides move: (4, south) would meet the old rate of 4, at a moment that neither end shows.
    orders.sql("UPDATE rates SET rate = 9 WHERE region = 'south'")
    orders.sql("INSERT INTO orders VALUES (4, 'south', 1)")
    assert orders.refresh("joined").action == "INCREMENTAL"
    assert_exact(orders, "joined")
