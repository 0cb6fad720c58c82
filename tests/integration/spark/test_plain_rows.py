"""Steps that need no Spark give the rows that Spark gives, and start no job; whatever has corners goes to Spark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.api import StreamTables

CONDITIONS = {
    "none": "1 = 1 OR i IS NULL",
    "integers": "l >= 7 AND s <> 3 AND b < 90",
    "constant on the left": "7 <= l AND 3 = s",
    "constants that are too large": "s < 100000 AND b > -300 AND s IN (1, 2, 100000)",
    "decimal": "d > 1.50 AND d < 40",
    "between": "d BETWEEN 1.25 AND 30.75",
    "wide decimal": "w <= 12345678901234567890.5",
    "string": "t >= 'b' AND t <> 'c'",
    "string beyond ascii": "t > 'é'",
    "in": "t IN ('a', 'ü', '') AND i IN (1, 2, 3, 4, 5, 6, 7)",
    "date": "day >= DATE'2024-03-01' AND day < DATE'2024-03-20'",
    "timestamp": "ts > TIMESTAMP'2024-03-01 12:00:00'",
    "timestamp without zone": "n <= TIMESTAMP_NTZ'2024-03-01 12:00:30'",
    "boolean": "f = true",
    "null": "i IS NULL",
    "not null": "i IS NOT NULL AND t IS NOT NULL",
    "with null": "i = CAST(NULL AS INT)",
}
BY_SPARK = ["none", "between", "with null"]

ROWS = """
    SELECT id AS l, CAST(IF(id % 5 = 0, NULL, id % 9) AS INT) AS i, CAST(id % 7 AS SMALLINT) AS s,
      CAST(id % 100 AS TINYINT) AS b, CAST(id / 4 AS DECIMAL(9,2)) AS d,
      CAST(12345678901234567890 + id - 30 AS DECIMAL(30,5)) AS w,
      IF(id % 6 = 5, NULL, element_at(array('a', 'b', 'c', 'ü', ''), CAST(id % 5 + 1 AS INT))) AS t,
      DATE'2024-02-25' + CAST(id % 40 AS INT) AS day,
      TIMESTAMP'2024-03-01 11:59:50' + make_dt_interval(0, 0, 0, id) AS ts,
      TIMESTAMP_NTZ'2024-03-01 12:00:00' + make_dt_interval(0, 0, 0, id) AS n, id % 3 = 0 AS f,
      IF(id % 4 = 0, double('NaN'), IF(id % 4 = 1, double('-0.0'), 0.0)) AS x
    FROM range({low}, {high})"""


def changed(ps: StreamTables) -> None:
    ps.sql("UPDATE t SET l = l + 40, d = d + 1, t = 'b', i = 3 WHERE l % 4 = 1; DELETE FROM t WHERE l % 6 = 0")
    ps.sql(f"INSERT INTO t {ROWS.format(low=50, high=70)}; INSERT INTO t {ROWS.format(low=0, high=9)}")


def bag(frame: DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.collect()))


def jobs(ps: StreamTables) -> int:
    return int(ps.spark.sparkContext._jsc.sc().dagScheduler().nextJobId())


def test_chosen_and_renamed_rows_are_the_querys(ps: StreamTables) -> None:
    ps.sql(f"CREATE TABLE t AS {ROWS.format(low=0, high=60)}")
    tables = {f"st_{number}": name for number, name in enumerate(CONDITIONS)}
    shape = "SELECT l, i AS j, t, d, i, day, ts FROM (SELECT * FROM t WHERE {}) WHERE l <> 12"
    queries = {table: shape.format(CONDITIONS[name]) for table, name in tables.items()}
    for table, query in queries.items():
        ps.create_stream_table(table, query, refresh_mode="INCREMENTAL")
    changed(ps)
    by_spark = []
    for table, name in tables.items():
        before = jobs(ps)
        ps.refresh(table)
        by_spark += [name] if jobs(ps) > before else []
        assert bag(ps.table(table)) == bag(ps.spark.sql(queries[table])), name
    assert by_spark == BY_SPARK


def test_copies_of_a_row_are_counted(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t AS SELECT id % 3 AS a, id AS b FROM range(9)")
    ps.create_stream_table("st", "SELECT a FROM t WHERE a > 0", refresh_mode="INCREMENTAL")
    ps.sql("UPDATE t SET a = 1 WHERE b IN (2, 3); DELETE FROM t WHERE b = 1")
    before = jobs(ps)
    done = ps.refresh("st")
    assert (jobs(ps), done.rows_inserted, done.rows_deleted) == (before, 1, 1)
    assert_exact(ps, "st")


def test_floating_point_numbers_are_told_apart_by_spark(ps: StreamTables) -> None:
    ps.sql(f"CREATE TABLE t AS {ROWS.format(low=0, high=60)}")
    ps.create_stream_table("st", "SELECT x, i FROM t WHERE x > 0", refresh_mode="INCREMENTAL")
    changed(ps)
    before = jobs(ps)
    ps.refresh("st")
    assert jobs(ps) > before
    assert_exact(ps, "st")
