"""Statements about stream tables beside CREATE: what they answer, and that what they print can be run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import CatalogUnusable, NotAllRefreshed, OnlyTables, SessionMisconfigured, StreamTableNotFound

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables


@pytest.fixture
def orders(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, region STRING, amount DECIMAL(12,2));
        INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20);
        CREATE STREAM TABLE sales AS SELECT region, sum(amount) AS total FROM orders GROUP BY region""")
    return ps


def rows(ps: StreamTables, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in ps.table(name).collect())


@pytest.mark.parametrize("statement", ["REFRESH sales", "REFRESH TABLE shop.sales", "REFRESH 'sales'"])
def test_a_plain_refresh_of_a_stream_table_refreshes_it(orders: StreamTables, statement: str) -> None:
    orders.sql("INSERT INTO orders VALUES (3, 'west', 5)")
    answer = orders.sql(statement)
    assert [row[:2] for row in answer.rows] == [("shop.sales", "INCREMENTAL")]
    assert [row[0] for row in rows(orders, "sales")] == ["north", "south", "west"]


def test_a_plain_refresh_of_another_table_says_what_it_did(orders: StreamTables) -> None:
    orders.sql("CREATE TEMPORARY VIEW some AS SELECT 1 AS a")
    for name in ("orders", "some"):
        assert orders.sql(f"REFRESH {name}").message.startswith(f"{name} is no stream table")
    with pytest.raises(StreamTableNotFound, match=r"shop\.sale"):
        orders.sql("REFRESH sale")
    for path in ("'/nowhere/at all'", "/nowhere", "IDENTIFIER('sales')", "TABLE IDENTIFIER('sales')"):
        assert "nothing was computed; write: REFRESH STREAM TABLE" in orders.sql(f"REFRESH {path}").message


def test_a_name_that_spark_takes_for_a_path_is_refreshed_too(orders: StreamTables) -> None:
    orders.sql("""
        CREATE STREAM TABLE `2024` AS SELECT id FROM orders;
        INSERT INTO orders VALUES (3, 'west', 5)""")
    assert [row[:2] for row in orders.sql("REFRESH shop.2024").rows] == [("shop.2024", "INCREMENTAL")]
    assert rows(orders, "`2024`") == [(1,), (2,), (3,)]


def test_all_stream_tables_are_refreshed_and_a_failure_is_told_last(orders: StreamTables) -> None:
    orders.sql("""
        CREATE STREAM TABLE parts AS SELECT id, 100 / (id - 3) AS part FROM orders;
        CREATE STREAM TABLE still AS SELECT id FROM orders;
        ALTER STREAM TABLE still SUSPEND;
        INSERT INTO orders VALUES (4, 'west', 5)""")
    done = orders.sql("REFRESH STREAM TABLES")
    assert sorted(row[:2] for row in done.rows) == [("shop.parts", "INCREMENTAL"), ("shop.sales", "INCREMENTAL")]
    orders.sql("INSERT INTO orders VALUES (3, 'east', 1)")
    with pytest.raises(NotAllRefreshed, match=r"1 of 2 stream tables .* shop\.parts \(QUERY_FAILED\)"):
        orders.sql("REFRESH STREAM TABLES")
    assert [row[0] for row in rows(orders, "sales")] == ["east", "north", "south", "west"]
    assert rows(orders, "still") == [(1,), (2,)]


@pytest.mark.parametrize(
    "options",
    [
        "",
        "TARGET LAG '1 hour 30 minutes 2.5 seconds' REFRESH MODE INCREMENTAL KEY (id, `odd ``name`)",
        "DOWNSTREAM REFRESH MODE FULL",
        "INITIALIZE ON SCHEDULE",
    ],
)
def test_what_show_create_prints_gives_the_same_definition(orders: StreamTables, options: str) -> None:
    session = orders.spark
    session.sql("SET spark.sql.session.timeZone = Asia/Tokyo")
    session.sql("SET spark.sql.legacy.sizeOfNull = true")
    query = "SELECT id, region AS `odd ``name`, -- why; not\n 'a;b' AS text FROM orders /* all */ WHERE id > 0"
    orders.sql(f"CREATE STREAM TABLE made {options} AS {query} -- last")
    session.sql("RESET spark.sql.session.timeZone")
    session.sql("RESET spark.sql.legacy.sizeOfNull")
    session.sql("SET spark.sql.legacy.castComplexTypesToString.enabled = false")
    session.sql("USE default")
    [[text]] = orders.sql("SHOW CREATE STREAM TABLE shop.made").rows
    meta = orders._warehouse.catalog.get_all()[0]
    before = orders._warehouse.definition(meta)
    orders.sql("DROP STREAM TABLE shop.made")
    orders.sql(text)
    after = orders._warehouse.definition(orders._find("shop.made"))
    assert after.hash == before.hash
    for field in ("name", "query", "database", "settings", "target_lag", "refresh_mode", "key", "columns"):
        assert getattr(after, field) == getattr(before, field)
    assert orders.show_create("shop.made") in text
    assert orders.info("shop.made")[0]["is_populated"] == ("SCHEDULE" not in options)


def test_describe_shows_columns_and_what_else_is_known(orders: StreamTables) -> None:
    plain = orders.sql("DESCRIBE STREAM TABLE sales").rows
    assert [name for name, _ in plain] == ["region", "total"]
    extended = dict(orders.sql("DESC EXTENDED STREAM TABLE sales").rows)
    assert extended["Target lag"] == "1 minute"
    assert extended["Maintained"] == "INCREMENTAL"
    assert extended["Sources"].endswith("orders")


@pytest.mark.parametrize(
    ("statement", "counts"),
    [
        ("INSERT INTO orders VALUES (3, 'west', 5), (4, 'west', 6)", (2, 2)),
        ("INSERT OVERWRITE orders SELECT * FROM orders WHERE id = 1", (1, 1)),
        ("WITH some AS (SELECT 9, 'x', 1) INSERT INTO shop.orders SELECT * FROM some", (1, 1)),
        ("CREATE TABLE copies AS SELECT * FROM orders", (2, 2)),
        ("CREATE OR REPLACE TABLE orders AS SELECT 1 AS id, 'north' AS region, 2.5 AS amount", (1, 1)),
        ("UPDATE orders SET amount = 1", (2,)),
        ("DELETE FROM orders WHERE id = 1", (1,)),
        ("CREATE TABLE empty (a INT)", None),
        ("FROM orders INSERT INTO orders SELECT * INSERT INTO orders SELECT *", None),
    ],
)
def test_statements_that_write_say_how_many_rows(
    orders: StreamTables, statement: str, counts: tuple[int, ...] | None
) -> None:
    answer = orders.sql(statement, yes=True)
    assert [tuple(row) for row in answer.collect()] == ([] if counts is None else [counts])
    assert (list(answer.columns)[:1] == ["num_affected_rows"]) == (counts is not None)


def test_older_versions_by_name_are_told_how_to_be_read(ps: StreamTables) -> None:
    ps.sql("""
        CREATE TABLE orders (id INT);
        INSERT INTO orders VALUES (1), (1);
        CREATE STREAM TABLE sales AS SELECT id FROM orders""")
    [first] = ps.sql("REFRESH sales").rows
    ps.sql("INSERT INTO orders VALUES (2); REFRESH sales")
    query = f"SELECT sales.id FROM sales VERSION AS OF {first[5]}"
    for ask in (ps.sql, ps.explain, lambda text: ps.create_stream_table("then", text)):
        with pytest.raises(OnlyTables) as refused:
            ask(query)
        instead = refused.value.advice.removeprefix("Write instead: ")
    told = query.replace(f"sales VERSION AS OF {first[5]}", instead)
    assert [row[0] for row in ps.sql(told).collect()] == [1, 1]
    with pytest.raises(OnlyTables) as refused:
        ps.sql(query.replace("sales.id", "s.id") + " s")
    instead = refused.value.advice.removeprefix("Write instead: ")
    assert [row[0] for row in ps.sql(f"SELECT s.id FROM {instead} s").collect()] == [1, 1]
    with pytest.raises(OnlyTables, match=r"SUBSCRIBE shop\.sales AS OF VERSION"):
        ps.sql("SELECT * FROM table_changes('sales', 0)")
    for asked, instead in [("HISTORY", "DESCRIBE HISTORY"), ("DETAIL", "DESCRIBE EXTENDED")]:
        with pytest.raises(OnlyTables, match=f"{instead} STREAM TABLE shop.sales"):
            ps.sql(f"DESCRIBE {asked} sales")
    assert ps.sql("SELECT count(*) FROM orders VERSION AS OF 1").collect()[0][0] == 2


def test_a_refused_session_or_catalog_leaves_no_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: SparkSession) -> None:
        raise SessionMisconfigured(what="it has been stopped", fix="Pass a running session.")

    with pytest.raises(CatalogUnusable):
        penstock.open(tmp_path / "a" / "b", spark=spark, catalog="s3a://bucket/x")
    monkeypatch.setattr("penstock.api.open_warehouse.check_session", refuse)
    with pytest.raises(SessionMisconfigured):
        penstock.open(tmp_path / "a" / "b", spark=spark)
    assert not list(tmp_path.iterdir())
