"""A prepared statement gives the rows of the plain one, whatever rows it was planned with and runs over next."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.engine.run.prepared import LocalRows, PreparedStatements
from penstock.engine.spark.tuning import INTERPRETED, SINGLE_TASK, Tuning, over_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = StructType(
    [
        StructField("k", LongType()),
        StructField("n", IntegerType()),
        StructField("s", StringType()),
        StructField("d", DecimalType(12, 2)),
        StructField("f", DoubleType()),
        StructField("t", TimestampType()),
        StructField("u", TimestampNTZType()),
        StructField("a", ArrayType(StringType())),
    ]
)
ARROW = pa.schema(
    [
        ("k", pa.int64()),
        ("n", pa.int32()),
        ("s", pa.string()),
        ("d", pa.decimal128(12, 2)),
        ("f", pa.float64()),
        ("t", pa.timestamp("us", "UTC")),
        ("u", pa.timestamp("us")),
        ("a", pa.list_(pa.string())),
    ]
)
KEPT = {
    "project and filter": "SELECT k + 1 AS k, upper(s) AS s, d * 2 AS d FROM l WHERE n > 1 OR s IS NULL",
    "inner join": "SELECT l.*, r.n AS m FROM l JOIN r ON l.k = r.k",
    "null-safe join": "SELECT l.k, r.s FROM l JOIN r ON l.k <=> r.k AND l.n <=> r.n",
    "left join": "SELECT l.k, r.d FROM l LEFT JOIN r ON l.k = r.k AND r.n > 2",
    "full join": "SELECT l.k, r.k AS j FROM l FULL JOIN r ON l.k = r.k",
    "semi and anti": """SELECT * FROM l LEFT SEMI JOIN r ON l.k = r.k
        UNION ALL SELECT * FROM l LEFT ANTI JOIN r ON l.n = r.n""",
    "range join": "SELECT l.k, r.k AS j FROM l JOIN r ON l.n < r.n",
    "cross join": "SELECT l.k, v.x FROM l CROSS JOIN (VALUES (1), (2)) AS v(x)",
    "self join": "SELECT a.k, b.n FROM l a JOIN l b ON a.k = b.k",
    "aggregate": "SELECT s, count(*) AS c, sum(d) AS d, min(t) AS t, max(u) AS u, avg(n) AS n FROM l GROUP BY s",
    "global aggregate": "SELECT count(*) AS c, sum(n) AS n, max(s) AS s FROM l",
    "count distinct": "SELECT s, count(DISTINCT k) AS c, count(DISTINCT n) AS m FROM l GROUP BY s",
    "distinct": "SELECT DISTINCT k, s FROM l",
    "union of both": "SELECT s, sum(n) AS n FROM (SELECT s, n FROM l UNION ALL SELECT s, n FROM r) GROUP BY s",
    "window": "SELECT k, n, sum(n) OVER (PARTITION BY k ORDER BY n, s, d, f ROWS UNBOUNDED PRECEDING) AS x FROM l",
    "rank over all": "SELECT k, rank() OVER (ORDER BY n) AS x FROM l",
    "explode": "SELECT k, e FROM l LATERAL VIEW explode(a) x AS e",
    "having": "SELECT k, count(*) AS c FROM l GROUP BY k HAVING count(*) > 1",
    "join of aggregates": """SELECT x.k, x.c, y.m FROM (SELECT k, count(*) c FROM l GROUP BY k) x
        LEFT JOIN (SELECT k, max(n) m FROM r GROUP BY k) y ON x.k <=> y.k""",
    "order and limit": "SELECT k, n FROM l ORDER BY k, n LIMIT 2",
    "constant false": "SELECT k FROM l WHERE 1 = 0",
}
NOT_KEPT = "SELECT k FROM l WHERE n > (SELECT avg(n) FROM r)"


def rows(seed: int, count: int) -> LocalRows:
    dice = random.Random(seed)
    pick = dice.choice
    made = [
        {
            "k": pick([None, 1, 2, 3]),
            "n": pick([None, 1, 2, 3, 4]),
            "s": pick([None, "", "a", "é"]),
            "d": pick([None, Decimal("1.25"), Decimal("-7.00")]),
            "f": pick([None, 0.0, -0.0, 1.5, float("inf")]),
            "t": pick([None, datetime(2024, 3, 31, 1, 30, 0, 123456, tzinfo=UTC)]),
            "u": pick([None, datetime(2024, 10, 27, 2, 30)]),
            "a": pick([None, [], ["x", None]]),
        }
        for _ in range(count)
    ]
    return LocalRows(SCHEMA, pa.Table.from_pylist(made, schema=ARROW))


def bag(table: pa.Table) -> Counter[str]:
    return Counter(repr(row) for row in table.to_pylist())


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    Tuning(session).apply(SINGLE_TASK)
    return session


@pytest.mark.parametrize("name", KEPT)
def test_a_prepared_statement_is_the_plain_statement(spark: SparkSession, session: SparkSession, name: str) -> None:
    prepared, tuning = PreparedStatements(session), Tuning(session)
    # Planned over nothing, over one row, or over many: the next run must not remember.
    for sizes in ((0, 0), (1, 1), (9, 7), (0, 5), (6, 0), (30, 40)):
        held = {"l": rows(sizes[0], sizes[0]), "r": rows(100 + sizes[1], sizes[1])}
        used = {each: held[each] for each in held if f" {each}" in KEPT[name]}
        plain = spark.newSession()
        for each, local in used.items():
            plain.createDataFrame(local.table, schema=SCHEMA).createOrReplaceTempView(each)
        expected = bag(plain.sql(KEPT[name]).toArrow())
        for settings in (SINGLE_TASK, INTERPRETED):
            tuning.apply(settings)
            frame = prepared.frame(KEPT[name], used)
            assert frame is not None
            assert bag(frame.toArrow()) == expected, (name, sizes, settings)


def test_a_statement_runs_as_one_task(spark: SparkSession, session: SparkSession) -> None:
    aggregate_of_joins = (
        """SELECT l.s, count(*) AS c FROM l JOIN r ON l.k = r.k FULL JOIN r q ON l.n = q.n GROUP BY l.s"""
    )
    joined_again = f"SELECT a.s, a.c, r.n FROM ({aggregate_of_joins}) a LEFT JOIN r ON a.s <=> r.s"
    for sql in (KEPT["join of aggregates"], joined_again):
        frame = PreparedStatements(session).frame(sql, {"l": rows(1, 20), "r": rows(2, 20)})
        assert frame is not None
        plan = str(frame._jdf.queryExecution().executedPlan().toString())
        assert "Exchange" not in plan
        assert "SortMergeJoin" in plan


def test_settings_for_one_work_leave_the_sessions_own_behind(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "7")
    before = {name: session.conf.get(name) for name in INTERPRETED}
    tuning = Tuning(session)
    for settings in (INTERPRETED, SINGLE_TASK, over_files(small=True, partitions="3")):
        tuning.apply(settings)
        assert {name: session.conf.get(name) for name in settings} == dict(settings)
    tuning.apply({})
    assert {name: session.conf.get(name) for name in INTERPRETED} == before


def test_a_subquery_inside_an_expression_is_not_kept(session: SparkSession) -> None:
    assert PreparedStatements(session).frame(NOT_KEPT, {"l": rows(1, 5), "r": rows(2, 5)}) is None
