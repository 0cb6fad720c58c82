"""The queries whose bound trees are recorded in tests/golden/bound: random ones, and one or more of every shape.

Every query means the same in Spark and in DuckDB: an ORDER BY under a LIMIT or in a window names columns until no two
different rows tie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from penstock.testing.strategies import SHARED, Column, Query, Schema, Table, random_query, random_schema

FOLDER = Path(__file__).parent / "golden" / "bound"
RANDOM = 40
"""Random queries per schema."""
SCHEMAS = {
    **{f"random_{number}": random_schema(Random(1000 + number), SHARED, prefix=f"p{number}_") for number in range(3)},
    "shapes": Schema(
        (
            Table("left_rows", (Column("k", "INT"), Column("g", "STRING"), Column("v", "INT"))),
            Table("right_rows", (Column("k", "INT"), Column("g", "STRING"), Column("w", "INT"))),
            Table("more_rows", (Column("k", "INT"), Column("d", "DECIMAL(8,2)"))),
        )
    ),
}
"""Name of each file → the tables of its queries."""

SHAPES = {
    "left join": "SELECT l.v, r.w FROM left_rows l LEFT JOIN right_rows r ON l.k = r.k",
    "left join, on a range": "SELECT l.v, r.w FROM left_rows l LEFT JOIN right_rows r ON l.k = r.k AND l.v < r.w",
    "left join, only the unmatched": "SELECT l.v FROM left_rows l LEFT JOIN right_rows r ON l.k = r.k "
    "WHERE r.k IS NULL",
    "left join twice": "SELECT l.v, r.w, m.d FROM left_rows l LEFT JOIN right_rows r ON l.k = r.k "
    "LEFT JOIN more_rows m ON r.k = m.k",
    "left join with itself": "SELECT a.v AS x, b.v AS y FROM left_rows a LEFT JOIN left_rows b ON a.k = b.v",
    "right join": "SELECT l.v, r.w FROM left_rows l RIGHT JOIN right_rows r ON l.k = r.k",
    "full join": "SELECT l.v, r.w FROM left_rows l FULL JOIN right_rows r ON l.k = r.k",
    "full join, null-safe": "SELECT l.v, r.w FROM left_rows l FULL JOIN right_rows r ON l.k <=> r.k AND l.g = r.g",
    "semi join": "SELECT v, g FROM left_rows l LEFT SEMI JOIN right_rows r ON l.k = r.k",
    "anti join": "SELECT v, g FROM left_rows l LEFT ANTI JOIN right_rows r ON l.k = r.k",
    "groups of a left join": "SELECT l.g, count(r.w) AS n, sum(r.w) AS s FROM left_rows l "
    "LEFT JOIN right_rows r ON l.k = r.k GROUP BY l.g",
    "exists": "SELECT v FROM left_rows l WHERE EXISTS (SELECT 1 FROM right_rows r WHERE r.k = l.k)",
    "not exists": "SELECT v FROM left_rows l WHERE NOT EXISTS (SELECT 1 FROM right_rows r "
    "WHERE r.k = l.k AND r.w > l.v)",
    "in": "SELECT v, g FROM left_rows WHERE k IN (SELECT k FROM right_rows)",
    "in, of several columns": "SELECT v FROM left_rows WHERE (k, g) IN (SELECT k, g FROM right_rows)",
    "not in": "SELECT v, g FROM left_rows WHERE k NOT IN (SELECT k FROM right_rows)",
    "in under or": "SELECT v FROM left_rows WHERE v > 3 OR k IN (SELECT k FROM right_rows)",
    "exists as a column": "SELECT v, EXISTS (SELECT 1 FROM right_rows r WHERE r.k = l.k) AS e FROM left_rows l",
    "scalar subquery": "SELECT v, (SELECT max(w) FROM right_rows) AS most FROM left_rows",
    "scalar subquery in where": "SELECT v FROM left_rows WHERE v > (SELECT min(w) FROM right_rows)",
    "scalar subquery in having": "SELECT g, sum(v) AS s FROM left_rows GROUP BY g "
    "HAVING sum(v) > (SELECT min(w) FROM right_rows)",
    "correlated scalar subquery": "SELECT v, (SELECT max(w) FROM right_rows r WHERE r.k = l.k) AS most "
    "FROM left_rows l",
    "correlated count": "SELECT v, (SELECT count(*) FROM right_rows r WHERE r.k = l.k) AS n FROM left_rows l",
    "subquery in a subquery": "SELECT v FROM left_rows WHERE k IN (SELECT k FROM right_rows r WHERE w > "
    "(SELECT min(d) FROM more_rows m WHERE m.k = r.k))",
    "union": "SELECT k, g FROM left_rows UNION SELECT k, g FROM right_rows",
    "intersect": "SELECT k, g FROM left_rows INTERSECT SELECT k, g FROM right_rows",
    "except": "SELECT k, g FROM left_rows EXCEPT SELECT k, g FROM right_rows",
    "rank": "SELECT k, rank() OVER (PARTITION BY g ORDER BY v) AS r FROM left_rows",
    "rank without partitions": "SELECT k, dense_rank() OVER (ORDER BY v DESC) AS r FROM left_rows",
    "row number": "SELECT k, v, row_number() OVER (PARTITION BY g ORDER BY v, k) AS n FROM left_rows",
    "lag": "SELECT k, v, lag(v) OVER (PARTITION BY g ORDER BY v, k) AS b FROM left_rows",
    "rows frame": "SELECT k, v, sum(v) OVER (PARTITION BY g ORDER BY v, k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
    "AS s FROM left_rows",
    "range frame": "SELECT k, v, sum(v) OVER (PARTITION BY g ORDER BY v) AS s FROM left_rows",
    "two partitionings": "SELECT v, count(*) OVER (PARTITION BY g) AS a, max(v) OVER (PARTITION BY k) AS b "
    "FROM left_rows",
    "window over groups": "SELECT g, rank() OVER (ORDER BY sum(v) DESC) AS r FROM left_rows GROUP BY g",
    "window over a join": "SELECT l.v, count(*) OVER (PARTITION BY r.g) AS n FROM left_rows l "
    "JOIN right_rows r ON l.k = r.k",
    "first of each group": "SELECT k, v FROM (SELECT k, v, row_number() OVER (PARTITION BY g ORDER BY v DESC, k) AS n "
    "FROM left_rows) AS x WHERE n <= 2",
    "first rows": "SELECT k, v FROM left_rows ORDER BY v, k LIMIT 3",
    "first rows after some": "SELECT k, g, v FROM left_rows ORDER BY v DESC, k, g LIMIT 3 OFFSET 2",
    "first rows of a join": "SELECT l.v, r.w FROM left_rows l JOIN right_rows r ON l.k = r.k ORDER BY l.v, r.w LIMIT 4",
    "first groups": "SELECT g, sum(v) AS s FROM left_rows GROUP BY g ORDER BY s DESC, g LIMIT 2",
    "first groups with having": "SELECT g, count(*) AS n FROM left_rows GROUP BY g HAVING count(*) > 1 "
    "ORDER BY g LIMIT 2",
    "limit below an aggregate": "SELECT count(*) AS n, sum(v) AS s FROM (SELECT v FROM left_rows "
    "ORDER BY v, k LIMIT 3) AS x",
    "constants": "SELECT l.v, c.n FROM left_rows l JOIN (VALUES (1, 'one'), (2, 'two')) AS c(k, n) ON l.k = c.k",
    "lateral count": "SELECT l.v, x.n FROM left_rows l, LATERAL (SELECT count(*) AS n FROM right_rows r "
    "WHERE r.k = l.k) x",
    "aggregate of an aggregate": "SELECT max(n) AS most FROM (SELECT count(*) AS n FROM left_rows GROUP BY g) AS x",
    "join of groups": "SELECT a.g, a.n, b.s FROM (SELECT g, count(*) AS n FROM left_rows GROUP BY g) AS a "
    "JOIN (SELECT g, sum(w) AS s FROM right_rows GROUP BY g) AS b ON a.g = b.g",
    "anti join of groups": "SELECT a.g, a.n FROM (SELECT g, count(*) AS n FROM left_rows GROUP BY g) AS a "
    "LEFT ANTI JOIN right_rows r ON a.g = r.g AND a.n < r.w",
}

TWINS = {
    "CTE or subquery": (
        "WITH c AS (SELECT k, count(*) AS n FROM left_rows GROUP BY k) SELECT x.k, y.n FROM c AS x JOIN c AS y "
        "ON x.n = y.n",
        "SELECT x.k, y.n FROM (SELECT k, count(*) AS n FROM left_rows GROUP BY k) AS x "
        "JOIN (SELECT k, count(*) AS n FROM left_rows GROUP BY k) AS y ON x.n = y.n",
    ),
    "other aliases": (
        "SELECT a.k AS c0, max(b.k) AS c1 FROM left_rows AS a JOIN right_rows AS b ON a.k = b.k GROUP BY a.k",
        "SELECT b.k AS c0, max(a.k) AS c1 FROM left_rows AS b JOIN right_rows AS a ON b.k = a.k GROUP BY b.k",
    ),
    "reordered joins": (
        "SELECT a.k, c.k AS j FROM left_rows AS a JOIN right_rows AS b ON a.k = b.k JOIN more_rows AS c ON b.k < c.k",
        "SELECT a.k, c.k AS j FROM more_rows AS c JOIN right_rows AS b ON b.k < c.k JOIN left_rows AS a ON a.k = b.k",
    ),
    "projection inside or outside": (
        "SELECT x + 1 AS y FROM (SELECT k * 2 AS x FROM left_rows) AS i WHERE x > 2",
        "SELECT k * 2 + 1 AS y FROM left_rows WHERE k * 2 > 2",
    ),
    "DISTINCT or GROUP BY": ("SELECT DISTINCT k FROM left_rows", "SELECT k FROM left_rows GROUP BY k"),
    "join condition or WHERE": (
        "SELECT a.k FROM left_rows AS a JOIN right_rows AS b ON a.k = b.k",
        "SELECT a.k FROM left_rows AS a, right_rows AS b WHERE a.k = b.k",
    ),
}
"""Two ways to say one thing."""


def queries_of(name: str) -> Iterator[Query]:
    """The queries of a file."""
    schema = SCHEMAS[name]
    if name == "shapes":
        for text in (*SHAPES.values(), *(twin for pair in TWINS.values() for twin in pair)):
            yield Query(text, frozenset(table.name for table in schema.tables if table.name in text))
        return
    number = list(SCHEMAS).index(name)
    for seed in range(RANDOM):
        yield random_query(Random(seed * len(SCHEMAS) + number), schema, shared=True)
