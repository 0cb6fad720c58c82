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
            (
                "`first` below a join",
                "SELECT t.f, r.amount FROM (SELECT region, first(id) AS f FROM orders GROUP BY region) t "
                "JOIN refunds r ON t.region = r.region",
            ),
        ),
    ),
    (
        "Subqueries",
        (
            ("`EXISTS`", "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM refunds r WHERE r.id = o.id)"),
            ("`NOT EXISTS`", "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM refunds r WHERE r.id = o.id)"),
            ("`IN` with a subquery", "SELECT id FROM orders WHERE id IN (SELECT id FROM refunds)"),
            (
                "`IN` with several columns",
                "SELECT id FROM orders WHERE (id, region) IN (SELECT id, region FROM refunds)",
            ),
            ("`NOT IN` with a subquery", "SELECT id FROM orders WHERE id NOT IN (SELECT id FROM refunds)"),
            ("`IN` under `OR`", "SELECT id FROM orders WHERE amount > 5 OR id IN (SELECT id FROM refunds)"),
            (
                "`EXISTS` as a column",
                "SELECT id, EXISTS (SELECT 1 FROM refunds r WHERE r.id = o.id) AS e FROM orders o",
            ),
            (
                "`EXISTS` over `GROUP BY` and `HAVING`",
                "SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id "
                "GROUP BY o.customer HAVING sum(o.amount) > 50)",
            ),
            ("scalar subquery", "SELECT id, (SELECT max(amount) FROM refunds) AS most FROM orders"),
            ("scalar subquery in `WHERE`", "SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM refunds)"),
            (
                "scalar subquery in `HAVING`",
                "SELECT region, sum(amount) AS total FROM orders GROUP BY region "
                "HAVING sum(amount) > (SELECT sum(amount) FROM refunds)",
            ),
            (
                "correlated scalar subquery",
                "SELECT id, (SELECT max(amount) FROM refunds r WHERE r.id = o.id) AS most FROM orders o",
            ),
            (
                "correlated scalar subquery that may find two rows: an error then",
                "SELECT id, (SELECT name FROM customers c WHERE c.id = o.customer) AS name FROM orders o",
            ),
            (
                "subquery in a subquery",
                "SELECT name FROM customers WHERE id IN (SELECT customer FROM orders o WHERE amount > "
                "(SELECT sum(amount) FROM refunds r WHERE r.id = o.id))",
            ),
            ("`LATERAL` subquery", "SELECT o.id, x.n FROM orders o, LATERAL (SELECT o.id + 1 AS n) x"),
            (
                "`LATERAL` aggregate",
                "SELECT c.id, x.n FROM customers c, LATERAL (SELECT count(*) AS n FROM orders o "
                "WHERE o.customer = c.id) x",
            ),
        ),
    ),
    (
        "Set operations",
        (
            ("`UNION`", "SELECT region FROM orders UNION SELECT region FROM refunds"),
            ("`INTERSECT`", "SELECT id FROM orders INTERSECT SELECT id FROM refunds"),
            ("`INTERSECT ALL`", "SELECT id FROM orders INTERSECT ALL SELECT id FROM refunds"),
            ("`EXCEPT`", "SELECT id FROM orders EXCEPT SELECT id FROM refunds"),
            ("`EXCEPT ALL`", "SELECT id FROM orders EXCEPT ALL SELECT id FROM refunds"),
            (
                "chain",
                "(SELECT id FROM orders EXCEPT ALL SELECT id FROM refunds) UNION ALL SELECT id FROM customers",
            ),
        ),
    ),
    (
        "Windows and limits",
        (
            ("`row_number`", "SELECT id, row_number() OVER (PARTITION BY region ORDER BY id) AS n FROM orders"),
            (
                "`rank`, `dense_rank`, `percent_rank`, `cume_dist`",
                "SELECT id, rank() OVER (PARTITION BY region ORDER BY amount) AS r FROM orders",
            ),
            (
                "`lag`, `lead`, `nth_value`, `ntile`",
                "SELECT id, lag(amount) OVER (PARTITION BY region ORDER BY id) AS before FROM orders",
            ),
            (
                "`ROWS` frame",
                "SELECT id, sum(amount) OVER (PARTITION BY region ORDER BY id ROWS 2 PRECEDING) AS s FROM orders",
            ),
            (
                "`RANGE` frame",
                "SELECT id, sum(amount) OVER (PARTITION BY region ORDER BY placed_on RANGE INTERVAL 3 DAYS PRECEDING) "
                "AS s FROM orders",
            ),
            (
                "two partitionings",
                "SELECT id, count(*) OVER (PARTITION BY region) AS a, count(*) OVER (PARTITION BY customer) AS b "
                "FROM orders",
            ),
            ("no `PARTITION BY`", "SELECT id, rank() OVER (ORDER BY amount) AS r FROM orders"),
            (
                "window over an aggregate",
                "SELECT region, rank() OVER (ORDER BY sum(amount) DESC) AS r FROM orders GROUP BY region",
            ),
            (
                "first rows of each group",
                "SELECT id, region FROM (SELECT id, region, row_number() OVER (PARTITION BY region "
                "ORDER BY amount DESC) AS n FROM orders) WHERE n <= 3",
            ),
            (
                "sum of doubles over a whole partition",
                "SELECT id, sum(weight) OVER (PARTITION BY region) AS s FROM orders",
            ),
            (
                "sum of doubles over a `RANGE` frame",
                "SELECT id, sum(weight) OVER (PARTITION BY region ORDER BY placed_on) AS s FROM orders",
            ),
            ("`ORDER BY … LIMIT`", "SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 10"),
            ("`ORDER BY … LIMIT … OFFSET`", "SELECT id FROM orders ORDER BY amount LIMIT 10 OFFSET 5"),
            (
                "`LIMIT` over an aggregate",
                "SELECT region, sum(amount) AS total FROM orders GROUP BY region ORDER BY total DESC LIMIT 3",
            ),
            ("`OFFSET` alone", "SELECT id FROM orders ORDER BY id OFFSET 10"),
            (
                "`LIMIT` below another operator",
                "SELECT count(*) AS n FROM (SELECT id FROM orders ORDER BY amount LIMIT 10)",
            ),
        ),
    ),
    (
        "Generators and constants",
        (
            ("`explode`", "SELECT id, explode(tags) AS tag FROM orders"),
            ("`LATERAL VIEW OUTER explode`", "SELECT id, tag FROM orders LATERAL VIEW OUTER explode(tags) t AS tag"),
            ("`posexplode`", "SELECT id, p, tag FROM orders LATERAL VIEW posexplode(tags) t AS p, tag"),
            ("`inline`", "SELECT id, a, b FROM orders LATERAL VIEW inline(array(struct(id, region))) t AS a, b"),
            ("`json_tuple`", "SELECT id, a FROM customers LATERAL VIEW json_tuple(name, 'a') t AS a"),
            ("`stack`", "SELECT id, a FROM customers LATERAL VIEW stack(2, rating, 1) t AS a"),
            (
                "`VALUES`",
                "SELECT o.id, v.n FROM orders o JOIN VALUES ('north', 1) AS v(region, n) ON o.region = v.region",
            ),
            ("`range`", "SELECT o.id, r.id AS n FROM orders o JOIN range(3) r ON o.customer = r.id"),
            (
                "source at a fixed version",
                "SELECT o.id FROM orders o JOIN customers VERSION AS OF 0 c ON c.id = o.customer",
            ),
        ),
    ),
    (
        "Everything else",
        (
            (
                "recursive CTE",
                "WITH RECURSIVE t(n) AS (SELECT min(id) FROM orders UNION ALL SELECT n + 1 FROM t WHERE n < 3) "
                "SELECT n FROM t",
            ),
            ("`TABLESAMPLE`", "SELECT id FROM orders TABLESAMPLE (10 PERCENT)"),
            ("clock", "SELECT id FROM orders WHERE placed_on = current_date()"),
            ("random values", "SELECT id, rand() AS r FROM orders"),
            ("source that is not Delta", "SELECT id FROM events"),
            ("no source", "SELECT 1 AS one"),
            ("collation other than UTF8_BINARY", "SELECT DISTINCT region COLLATE UNICODE_CI AS r FROM orders"),
            ("result column of a type that cannot be compared", "SELECT id, payload FROM payloads"),
            ("function written in SQL", "SELECT id, twice(id) AS two FROM orders"),
        ),
    ),
)
