"""Sums of doubles below another operator: maintained, and the same at every run although addition is not associative.

The witness is an audit, which runs the settled query; plain Spark may give another sum of the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.api import StreamTables

VALUES = [0.1, 1e16, -1e16, 0.2, 3.0, 1e-9, 0.3, -0.0]
QUERIES = {
    "joined": "SELECT n.name, s.total FROM names n JOIN (SELECT k, sum(x) AS total FROM t GROUP BY k) s ON n.k = s.k",
    "average": "SELECT a, count(*) AS n FROM (SELECT k, avg(x) AS a FROM t GROUP BY k) GROUP BY a",
    "scalar": "SELECT id FROM t WHERE x > (SELECT avg(x) FROM t)",
    "correlated": "SELECT n.k, (SELECT sum(x) FROM t WHERE t.k = n.k) AS total FROM names n",
    "first_groups": "SELECT k, sum(x) AS total FROM t GROUP BY k ORDER BY total DESC LIMIT 2",
    "over_partitions": "SELECT id, sum(x) OVER (PARTITION BY k) AS total FROM t",
    "big_integers": "SELECT max(a) AS a FROM (SELECT k, avg(id + 9007199254740993) AS a FROM t GROUP BY k)",
    "filtered": "SELECT max(s) AS s FROM (SELECT k, sum(DISTINCT x) FILTER (WHERE x <> 3) AS s FROM t GROUP BY k)",
}


def test_the_same_sums_at_every_run(ps: StreamTables) -> None:
    ps.spark.sql("CREATE TABLE t (id BIGINT, k INT, x DOUBLE) USING delta")
    ps.spark.sql("CREATE TABLE names (k INT, name STRING) USING delta")
    ps.spark.sql("INSERT INTO names VALUES (0, 'a'), (1, 'b'), (2, 'none'), (NULL, 'null')")
    for start, order in ((0, VALUES), (100, VALUES[::-1])):
        rows = ", ".join(f"({start + place}, {place % 2}, double('{value}'))" for place, value in enumerate(order))
        ps.spark.sql(f"INSERT INTO t VALUES {rows}")
    for name, query in QUERIES.items():
        ps.create_stream_table(name, query, refresh_mode="INCREMENTAL")
    for change in (
        "INSERT INTO t VALUES (200, 0, 0.7D), (201, NULL, NULL)",
        "DELETE FROM t WHERE x > 1e15",
        "UPDATE t SET k = 1 - k WHERE id < 3",
    ):
        ps.spark.sql(change)
    for name in QUERIES:
        assert str(ps.refresh(name).action) == "INCREMENTAL", name
        assert ps.audit(name).exact, name


def test_a_sorted_list_may_be_read_by_another_operator(ps: StreamTables) -> None:
    ps.spark.sql("CREATE TABLE t (k INT, v INT) USING delta")
    ps.spark.sql("INSERT INTO t VALUES (1, 3), (1, 1), (2, 1), (2, 3), (3, NULL)")
    query = "SELECT l, count(*) AS n FROM (SELECT k, sort_array(collect_list(v)) AS l FROM t GROUP BY k) GROUP BY l"
    ps.create_stream_table("st", query, refresh_mode="INCREMENTAL")
    ps.spark.sql("INSERT INTO t VALUES (3, 3), (3, 1), (4, 9)")
    assert str(ps.refresh("st").action) == "INCREMENTAL"
    rows = sorted((tuple(row["l"]), row["n"]) for row in ps.table("st").collect())
    assert rows == [((1, 3), 3), ((9,), 1)]
