"""The cases behind the operator matrix: a construct, and a query that uses it.

Every query is bound by Spark and compiled. What the page says of it is what came out.
"""

from __future__ import annotations

SETUP = (
    "CREATE TABLE orders (id BIGINT, region STRING, customer BIGINT, amount DECIMAL(12,2), weight DOUBLE, placed_on "
    "DATE, "
    "tags ARRAY<STRING>)",
    "CREATE TABLE customers (id BIGINT, name STRING, rating INT)",
    "CREATE TABLE refunds (id BIGINT, region STRING, amount DECIMAL(12,2))",
    "CREATE VIEW northern AS SELECT id, amount FROM orders WHERE region = 'north'",
    "CREATE TABLE events (id BIGINT, kind STRING) USING parquet",
    "CREATE TABLE payloads (id BIGINT, payload VARIANT)",
    "CREATE OR REPLACE FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN x * 2",
    "CREATE STREAM TABLE revenue INITIALIZE ON SCHEDULE AS SELECT region, sum(amount) AS total FROM orders GROUP BY "
    "region",
)

CASES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Rows",
        (
            ("select list", "SELECT id, amount * 2 AS twice FROM orders"),
            ("`WHERE`", "SELECT id FROM orders WHERE amount > 10"),
            ("`ORDER BY` at the top, a shown column: dropped", "SELECT id, amount FROM orders ORDER BY amount"),
            ("`ORDER BY` a column that is not shown", "SELECT id FROM orders ORDER BY amount"),
            ("`UNION ALL`", "SELECT id FROM orders UNION ALL SELECT id FROM refunds"),
            ("subquery in `FROM`", "SELECT twice FROM (SELECT amount * 2 AS twice FROM orders) WHERE twice > 10"),
            ("CTE", "WITH large AS (SELECT * FROM orders WHERE amount > 10) SELECT id, region FROM large"),
            ("view", "SELECT id FROM northern WHERE amount > 10"),
            ("stream table as source", "SELECT region FROM revenue WHERE total > 100"),
            ("higher-order functions", "SELECT id, transform(tags, t -> upper(t)) AS upper_tags FROM orders"),
        ),
    ),
    (
        "Joins",
        (
            ("inner join", "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id"),
            (
                "inner join on any condition",
                "SELECT o.id, c.name FROM orders o JOIN customers c ON o.amount > c.rating",
            ),
            ("comma join", "SELECT o.id, c.name FROM orders o, customers c WHERE o.customer = c.id"),
            ("cross join", "SELECT o.id, c.name FROM orders o CROSS JOIN customers c"),
            ("self-join", "SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.region = b.region"),
            (
                "join of three",
                "SELECT o.id, c.name, r.amount FROM orders o JOIN customers c ON o.customer = c.id JOIN refunds r ON "
                "r.id = o.id",
            ),
            (
                "join of an aggregate",
                "SELECT c.name, t.n FROM customers c JOIN (SELECT customer, count(*) AS n FROM orders GROUP BY "
                "customer) t "
                "ON t.customer = c.id",
            ),
            ("`LEFT JOIN`", "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id"),
            ("`RIGHT JOIN`", "SELECT o.id, c.name FROM orders o RIGHT JOIN customers c ON o.customer = c.id"),
            ("`FULL JOIN`", "SELECT o.id, c.name FROM orders o FULL JOIN customers c ON o.customer = c.id"),
            ("`LEFT SEMI JOIN`", "SELECT o.id FROM orders o LEFT SEMI JOIN customers c ON o.customer = c.id"),
            ("`LEFT ANTI JOIN`", "SELECT o.id FROM orders o LEFT ANTI JOIN customers c ON o.customer = c.id"),
            ("`LATERAL` subquery", "SELECT o.id, x.n FROM orders o, LATERAL (SELECT o.id + 1 AS n) x"),
            ("`explode`", "SELECT id, explode(tags) AS tag FROM orders"),
        ),
    ),
    (
        "Aggregates at the top",
        (
            ("`count(*)`", "SELECT region, count(*) AS n FROM orders GROUP BY region"),
            (
                "`count(x)`, with `FILTER`",
                "SELECT region, count(customer) FILTER (WHERE amount > 1) AS n FROM orders GROUP BY region",
            ),
            ("`sum` of integers or decimals", "SELECT region, sum(amount) AS total FROM orders GROUP BY region"),
            ("`avg` of integers or decimals", "SELECT region, avg(amount) AS mean FROM orders GROUP BY region"),
            ("`min`, `max`", "SELECT region, min(amount) AS least, max(placed_on) AS last FROM orders GROUP BY region"),
            ("`sum` of doubles", "SELECT region, sum(weight) AS total FROM orders GROUP BY region"),
            ("`count(DISTINCT x)`", "SELECT region, count(DISTINCT customer) AS n FROM orders GROUP BY region"),
            (
                "`percentile_cont`",
                "SELECT region, percentile_cont(0.5) WITHIN GROUP (ORDER BY id) AS p FROM orders GROUP BY region",
            ),
            ("`collect_list`", "SELECT region, collect_list(id) AS ids FROM orders GROUP BY region"),
            ("`max_by`", "SELECT region, max_by(id, amount) AS dearest FROM orders GROUP BY region"),
            ("`stddev`", "SELECT region, stddev(amount) AS spread FROM orders GROUP BY region"),
            (
                "several, one of them without a fold",
                "SELECT region, sum(amount) AS a, max_by(id, amount) AS b FROM orders GROUP BY region",
            ),
            ("group by an expression that is not shown", "SELECT count(*) AS n FROM orders GROUP BY year(placed_on)"),
            ("expression over aggregates", "SELECT region, sum(amount) / count(*) AS mean FROM orders GROUP BY region"),
            ("`HAVING`", "SELECT region, count(*) AS n FROM orders GROUP BY region HAVING count(*) > 1"),
            ("no `GROUP BY`: one row", "SELECT count(*) AS n, sum(amount) AS total FROM orders"),
            ("`DISTINCT`", "SELECT DISTINCT region FROM orders"),
            ("`UNION`", "SELECT region FROM orders UNION SELECT region FROM refunds"),
            (
                "aggregate of a join",
                "SELECT c.name, sum(o.amount) AS total FROM orders o JOIN customers c ON o.customer = c.id GROUP BY "
                "c.name",
            ),
            ("`GROUPING SETS`, `ROLLUP`, `CUBE`", "SELECT region, count(*) AS n FROM orders GROUP BY ROLLUP (region)"),
            (
                "`PIVOT`",
                "SELECT * FROM (SELECT customer, region, amount FROM orders) PIVOT (sum(amount) FOR region IN "
                "('north', 'south'))",
            ),
        ),
    ),
    (
        "Aggregates below another operator",
        (
            (
                "aggregate of an aggregate",
                "SELECT max(n) AS most FROM (SELECT count(*) AS n FROM orders GROUP BY region)",
            ),
            (
                "`DISTINCT` below a join",
                "SELECT d.region, r.amount FROM (SELECT DISTINCT region FROM orders) d JOIN refunds r ON d.region = "
                "r.region",
            ),
            (
                "sum of doubles below a join",
                "SELECT t.total, r.amount FROM (SELECT region, sum(weight) AS total FROM orders GROUP BY region) t "
                "JOIN refunds r ON t.region = r.region",
            ),
        ),
    ),
    (
        "Everything else",
        (
            ("`EXISTS`", "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM refunds r WHERE r.id = o.id)"),
            ("`IN` with a subquery", "SELECT id FROM orders WHERE id IN (SELECT id FROM refunds)"),
            ("`NOT IN` with a subquery", "SELECT id FROM orders WHERE id NOT IN (SELECT id FROM refunds)"),
            ("scalar subquery", "SELECT id, (SELECT max(amount) FROM refunds) AS most FROM orders"),
            ("window functions", "SELECT id, row_number() OVER (PARTITION BY region ORDER BY id) AS n FROM orders"),
            ("`LIMIT`", "SELECT id FROM orders ORDER BY id LIMIT 10"),
            ("`OFFSET`", "SELECT id FROM orders ORDER BY id OFFSET 10"),
            ("`INTERSECT`", "SELECT id FROM orders INTERSECT SELECT id FROM refunds"),
            ("`EXCEPT`", "SELECT id FROM orders EXCEPT SELECT id FROM refunds"),
            (
                "recursive CTE",
                "WITH RECURSIVE t(n) AS (SELECT min(id) FROM orders UNION ALL SELECT n + 1 FROM t WHERE n < 3) "
                "SELECT n FROM t",
            ),
            ("`TABLESAMPLE`", "SELECT id FROM orders TABLESAMPLE (10 PERCENT)"),
            ("clock", "SELECT id FROM orders WHERE placed_on = current_date()"),
            ("random values", "SELECT id, rand() AS r FROM orders"),
            ("source at a fixed version", "SELECT id FROM orders VERSION AS OF 0"),
            ("source that is not Delta", "SELECT id FROM events"),
            ("no source", "SELECT 1 AS one"),
            ("file metadata", "SELECT id, _metadata.file_name AS file FROM orders"),
            ("collation other than UTF8_BINARY", "SELECT DISTINCT region COLLATE UNICODE_CI AS r FROM orders"),
            ("result column of a type that cannot be compared", "SELECT id, payload FROM payloads"),
            ("user-defined function", "SELECT id, twice(id) AS two FROM orders"),
        ),
    ),
)
