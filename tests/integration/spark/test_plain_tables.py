"""CREATE TABLE through `ps.sql` makes Delta with a change feed, whatever the session says, unless it says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warehouses import opened_anew

from penstock.engine.spark.threads import active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

FEED = "delta.enableChangeDataFeed"
DEFAULTS = {
    "spark.sql.sources.default": "parquet",
    "spark.databricks.delta.properties.defaults.enableChangeDataFeed": "false",
}


@pytest.fixture
def ps(ps: StreamTables) -> StreamTables:
    """A session as somebody passes it in: made for Delta, and Parquet by default."""
    for name, value in DEFAULTS.items():
        ps.spark.conf.set(name, value)
    return ps


def kind(ps: StreamTables, table: str) -> tuple[str, str | None]:
    """The format of a table and whether it has a change feed."""
    told = {row.col_name: row.data_type for row in ps.spark.sql(f"DESCRIBE EXTENDED {table}").collect()}
    properties = {row.key: row.value for row in ps.spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    return str(told["Provider"]).lower(), properties.get(FEED)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (id INT COMMENT 'x', v INT) PARTITIONED BY (v) COMMENT 'c' TBLPROPERTIES ('mine' = '1')",
        "CREATE TABLE t AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE t (id INT)",
        "CREATE OR REPLACE TABLE t AS SELECT 1 AS id",
        "CREATE TABLE IF NOT EXISTS t (id INT) USING Delta",
        "CREATE TABLE IDENTIFIER('t') (id INT)",
        "CREATE TABLE t LIKE seen",
        "CREATE TABLE t LIKE feedless",
        "CREATE TABLE t (id INT) LOCATION '{root}/elsewhere'",
    ],
)
def test_a_plain_table_is_delta_with_a_change_feed(ps: StreamTables, statement: str) -> None:
    ps.spark.sql("CREATE TABLE feedless (id INT) USING delta")
    ps.spark.sql("CREATE VIEW seen AS SELECT id FROM feedless")
    ps.sql(statement.format(root=ps.path))
    assert kind(ps, "t") == ("delta", "true")
    ps.sql("CREATE STREAM TABLE st AS SELECT id, count(*) AS n FROM t GROUP BY id")
    assert ps.status()[0].effective_mode == "INCREMENTAL"
    assert ps.spark.conf.get("spark.sql.sources.default") == "parquet"


@pytest.mark.parametrize(
    ("statement", "provider", "feed"),
    [
        ("CREATE TABLE t (id INT) USING parquet", "parquet", None),
        ("CREATE TABLE t USING json AS SELECT 1 AS id", "json", None),
        ("CREATE TABLE t LIKE columns", "parquet", None),
        ("CREATE TABLE t LIKE columns USING delta", "delta", "true"),
        (f"CREATE TABLE t (id INT) TBLPROPERTIES ('{FEED}' = 'false')", "delta", "false"),
        ("CREATE TABLE t USING delta LOCATION '{root}/there'", "delta", "false"),
        ("CREATE TABLE t LOCATION '{root}/there'", "delta", "false"),
    ],
)
def test_what_a_statement_says_itself_is_obeyed(
    ps: StreamTables, statement: str, provider: str, feed: str | None
) -> None:
    ps.spark.sql("CREATE TABLE columns (id INT) USING parquet")
    ps.spark.sql(f"CREATE TABLE delta.`{ps.path}/there` (id INT) USING delta")
    logged = sorted((ps.path / "there" / "_delta_log").iterdir())
    ps.sql(statement.format(root=ps.path))
    assert kind(ps, "t") == (provider, feed)
    assert sorted((ps.path / "there" / "_delta_log").iterdir()) == logged


def test_a_table_of_another_catalog_is_made_as_it_is_written(ps: StreamTables) -> None:
    """A database refuses a format and a property, of which it knows nothing."""
    derby = {
        "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        ".url": "jdbc:derby:memory:others;create=true",
        ".driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }
    for name, value in derby.items():
        ps.spark.conf.set(f"spark.sql.catalog.others{name}", value)
    try:
        ps.sql("CREATE NAMESPACE others.s; CREATE TABLE others.s.named (id INT)")
        ps.sql("USE others.s")
        ps.sql("CREATE TABLE used (id INT)")
        assert {row.tableName.lower() for row in ps.sql("SHOW TABLES IN others.s").collect()} == {"named", "used"}
        ps.sql("CREATE TABLE spark_catalog.shop.own (id INT)")
    finally:
        ps.spark.sql("USE spark_catalog.shop")
    assert kind(ps, "own") == ("delta", "true")
    ps.sql("CREATE TABLE Spark_Catalog.shop.other (id INT); CREATE TABLE shop.third LIKE own")
    assert kind(ps, "other") == kind(ps, "third") == ("delta", "true")


def test_a_mistake_in_it_is_told_as_of_any_statement(ps: StreamTables) -> None:
    for statement, says in (("CREATE TABLE t (id INTT)", "INTT"), ("CREATE TABLE t AS SELECT nope FROM gone", "gone")):
        with pytest.raises(Exception, match=says):
            ps.sql(statement)


def test_over_a_table_that_is_not_delta_the_answer_says_why_it_is_full(ps: StreamTables, tmp_path: Path) -> None:
    ps.sql("CREATE TABLE events USING parquet AS SELECT 1 AS id")
    said: Any = ps.sql("CREATE STREAM TABLE st AS SELECT id FROM events")
    assert "maintained FULL (events at line 1, column 16 of the query" in said.message
    assert "reason-source_not_delta" in said.message
    made = ps.create_stream_table("other", "SELECT count(*) AS n FROM events")
    assert (made.effective_mode, "reason-source_not_delta" in str(made.reason)) == ("FULL", True)


def test_it_is_made_in_the_session_passed_in_whichever_is_active(spark: SparkSession, tmp_path: Path) -> None:
    with opened_anew(spark, tmp_path / "A") as ps, active(spark):
        for table, how in {"t": "(id INT)", "u": "AS SELECT 1 AS id", "v": "LIKE t"}.items():
            ps.sql(f"CREATE TABLE {table} {how}")
            assert kind(ps, table) == ("delta", "true")
