"""Queries that lean on more than text and tables: the clock, functions of the user's session, DataFrames."""

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import pandas_udf

from penstock.errors import QueryFailed, QueryInvalid
from penstock.testing import FakeClock
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


def test_rows_age_out_at_the_data_timestamp(ps: "StreamTables", monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    monkeypatch.setattr(ps._warehouse, "now", clock.now)
    ps.sql("""
        CREATE TABLE seen (id INT, at TIMESTAMP);
        INSERT INTO seen VALUES (1, TIMESTAMP '2026-01-01 00:00:00Z'), (2, TIMESTAMP '2026-01-01 01:00:00Z');
        CREATE STREAM TABLE recent REFRESH MODE INCREMENTAL AS
            SELECT id, at FROM seen WHERE at > current_timestamp() - INTERVAL 4 SECONDS;
        CREATE STREAM TABLE how_many REFRESH MODE INCREMENTAL AS
            SELECT count(*) AS n, current_date() AS day FROM seen WHERE at > now() - INTERVAL 4 SECONDS""")
    assert [row.n for row in ps.table("how_many").collect()] == [2]
    clock.advance(timedelta(seconds=4))
    ps.sql("INSERT INTO seen VALUES (3, TIMESTAMP '2025-12-31 23:00:00Z')")
    for name in ("recent", "how_many"):
        assert ps.refresh(name).action == "INCREMENTAL"
        assert ps.audit(name).exact
    assert [row.id for row in ps.table("recent").collect()] == [2]
    assert [row.n for row in ps.table("how_many").collect()] == [1]
    # The clock alone moves: a row ages out although no source changed, and then nothing changes any more.
    clock.advance(timedelta(hours=1))
    gone = ps.refresh("recent")
    assert (gone.action, gone.rows_inserted, gone.rows_deleted) == ("INCREMENTAL", 0, 1)
    assert ps.audit("recent").exact
    clock.advance(timedelta(hours=1))
    again = ps.refresh("recent")
    assert (again.rows_inserted, again.rows_deleted) == (0, 0)
    assert ps.refresh("recent").action == "NO_DATA", "the clock stood still"


def test_registered_functions_are_part_of_the_query(ps: "StreamTables") -> None:
    ps.spark.udf.register("doubled", lambda value: None if value is None else 2 * value, "int")

    @pandas_udf("int")  # type: ignore[call-overload,untyped-decorator]
    def next_one(values: pd.Series) -> pd.Series:
        return values + 1

    ps.spark.udf.register("next_one", next_one)
    ps.sql("""
        CREATE TABLE numbers (id INT, v INT);
        INSERT INTO numbers VALUES (1, 1), (2, NULL), (3, 3);
        CREATE STREAM TABLE twice REFRESH MODE INCREMENTAL AS
            SELECT id, doubled(v) AS d, next_one(id) AS n FROM numbers WHERE coalesce(doubled(id), 0) > 2;
        INSERT INTO numbers VALUES (4, 4); DELETE FROM numbers WHERE id = 2""")
    assert_exact(ps, "twice", "INCREMENTAL", ps.refresh("twice"))


def test_a_subquery_that_finds_two_rows_stays_an_error(ps: "StreamTables") -> None:
    ps.sql("""
        CREATE TABLE people (id INT, boss INT);
        CREATE TABLE names (id INT, name STRING);
        INSERT INTO people VALUES (1, 1), (2, 1); INSERT INTO names VALUES (1, 'a'), (3, 'c');
        CREATE STREAM TABLE told REFRESH MODE INCREMENTAL AS
            SELECT id, (SELECT name FROM names n WHERE n.id = p.boss) AS name FROM people p;
        INSERT INTO names VALUES (3, 'd')""")
    # Nobody asks for the doubled one.
    assert_exact(ps, "told", "INCREMENTAL", ps.refresh("told"))
    ps.sql("INSERT INTO names VALUES (1, 'b')")
    with pytest.raises(QueryFailed, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        ps.refresh("told")
    ps.sql("DELETE FROM names WHERE name = 'b'")
    assert_exact(ps, "told", None, ps.refresh("told"))


def test_a_dataframe_is_written_down_as_sql(ps: "StreamTables") -> None:
    ps.sql("""
        CREATE TABLE items (shop INT, price INT); CREATE TABLE shops (shop INT, city STRING);
        INSERT INTO items VALUES (1, 10), (1, 20), (2, 5), (NULL, 1); INSERT INTO shops VALUES (1, 'a'), (3, 'c')""")

    def dearest(spark: SparkSession) -> DataFrame:
        shops = spark.table("shops")
        total = spark.table("items").groupBy("shop").agg(F.sum("price").alias("total"))
        return shops.join(total, "shop", "left").where(F.col("city").isNotNull()).select("city", "shop", "total")

    ps.create_stream_table("dearest", dearest, refresh_mode="INCREMENTAL")
    ps.sql("INSERT INTO items VALUES (3, 7); DELETE FROM items WHERE price = 10; UPDATE shops SET city = 'b'")
    assert_exact(ps, "dearest", "INCREMENTAL", ps.refresh("dearest"))
    assert sorted(map(tuple, ps.table("dearest").collect())) == sorted(map(tuple, dearest(ps.spark).collect()))
    with pytest.raises(QueryInvalid, match="NON_DETERMINISTIC"):
        ps.create_stream_table("odd", ps.spark.table("items").withColumn("r", F.rand()))


def counted_in_python(spark: SparkSession) -> DataFrame:
    """A DataFrame that has no SQL form."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            more = pc.add(batch.column(1), pa.scalar(1, pa.int32()))
            yield pa.RecordBatch.from_pydict({"shop": batch.column(0), "more": more})

    return spark.table("items").mapInArrow(count, "shop INT, more INT")


def test_a_function_without_sql_form_is_run_in_full(ps: "StreamTables") -> None:
    ps.sql("CREATE TABLE items (shop INT, price INT); INSERT INTO items VALUES (1, 10), (NULL, 1)")
    ps.create_stream_table("counted", counted_in_python)
    ps.sql("INSERT INTO items VALUES (3, 7); DELETE FROM items WHERE shop IS NULL")
    done = ps.refresh("counted")
    assert (str(done.action), done.reason_code) == ("FULL", "UNKNOWN_OPERATOR")
    assert sorted(map(tuple, ps.table("counted").collect())) == [(1, 11), (3, 8)]
    assert str(ps.refresh("counted").action) == "NO_DATA"
    assert ps.audit("counted").exact
    with pytest.raises(QueryInvalid, match="cannot be imported"):
        ps.sql("CREATE STREAM TABLE lost AS SELECT * FROM python('no_such_module:function')")
    with pytest.raises(QueryInvalid, match="can be imported"):
        ps.create_stream_table("local", lambda spark: counted_in_python(spark))
