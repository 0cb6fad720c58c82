"""The shop of the soak: four tables, and twenty stream tables of every kind over them and over each other."""

from __future__ import annotations

from pathlib import Path

import penstock

CUSTOMERS, PRODUCTS, ORDERS = 2_000, 200, 20_000

TABLES = f"""
CREATE TABLE customers (id BIGINT, region STRING, segment STRING);
CREATE TABLE products (id BIGINT, category STRING, price DECIMAL(10,2));
CREATE TABLE orders (id BIGINT, customer BIGINT, product BIGINT, quantity INT, amount DECIMAL(12,2), status STRING,
  at TIMESTAMP);
CREATE TABLE returns (order_id BIGINT, reason STRING);
INSERT INTO customers SELECT id, element_at(array('north', 'east', 'south', 'west'), CAST(id % 4 + 1 AS INT)),
  element_at(array('private', 'trade', 'public'), CAST(id % 3 + 1 AS INT)) FROM range({CUSTOMERS});
INSERT INTO products SELECT id, concat('category ', id % 12), CAST(1 + id % 97 AS DECIMAL(10,2)) FROM range({PRODUCTS});
INSERT INTO orders SELECT id, id * 7919 % {CUSTOMERS}, id * 104729 % {PRODUCTS}, CAST(1 + id % 5 AS INT),
  CAST((1 + id % 500) * 1.25 AS DECIMAL(12,2)), element_at(array('open', 'paid', 'sent'), CAST(id % 3 + 1 AS INT)),
  timestamp_seconds(1790000000 + id * 13) FROM range({ORDERS});
INSERT INTO returns SELECT id * 11, element_at(array('late', 'broken'), CAST(id % 2 + 1 AS INT)) FROM range(500);
"""

STREAM_TABLES: dict[str, tuple[str | None, str]] = {
    "orders_by_status": (
        "15 seconds",
        "SELECT status, count(*) AS n, sum(amount) AS total FROM orders GROUP BY status",
    ),
    "open_orders": ("15 seconds", "SELECT id, customer, amount FROM orders WHERE status = 'open'"),
    "large_orders": ("15 seconds", "SELECT id, amount, at FROM orders WHERE amount > 500"),
    "turnover": ("15 seconds", "SELECT count(*) AS n, sum(amount) AS total, avg(amount) AS mean FROM orders"),
    "revenue_by_region": (
        "15 seconds",
        "SELECT c.region, sum(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.region",
    ),
    "order_lines": (
        None,
        "SELECT o.id, o.customer, p.category, o.quantity * p.price AS worth FROM orders o "
        "JOIN products p ON p.id = o.product",
    ),
    "revenue_by_category": (
        "30 seconds",
        "SELECT category, sum(worth) AS total, count(*) AS n FROM order_lines GROUP BY category",
    ),
    "revenue_by_segment": (
        "30 seconds",
        "SELECT c.segment, l.category, sum(l.worth) AS total FROM order_lines l "
        "JOIN customers c ON c.id = l.customer GROUP BY c.segment, l.category",
    ),
    "customer_totals": (None, "SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer"),
    "best_customers": (
        "30 seconds",
        "SELECT customer, total FROM customer_totals ORDER BY total DESC, customer LIMIT 10",
    ),
    "region_shares": (
        "30 seconds",
        "SELECT r.region, r.total, r.total / t.total AS share FROM revenue_by_region r CROSS JOIN turnover t",
    ),
    "orders_by_day": (
        "30 seconds",
        "SELECT date_trunc('DAY', at) AS day, count(*) AS n, sum(amount) AS total FROM orders GROUP BY 1",
    ),
    "product_extremes": (
        "30 seconds",
        "SELECT product, min(amount) AS least, max(amount) AS most FROM orders GROUP BY product",
    ),
    "buying_customers": ("30 seconds", "SELECT DISTINCT customer FROM orders"),
    "idle_customers": (
        "1 minute",
        "SELECT id, region FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
    ),
    "place_in_region": (
        "1 minute",
        "SELECT c.region, t.customer, t.total, row_number() OVER (PARTITION BY c.region ORDER BY t.total DESC, "
        "t.customer) AS place FROM customer_totals t JOIN customers c ON c.id = t.customer",
    ),
    "returned_orders": (
        "1 minute",
        "SELECT id, amount FROM orders WHERE id IN (SELECT order_id FROM returns)",
    ),
    "returns_by_status": (
        "1 minute",
        "SELECT o.status, count(r.order_id) AS returned, count(*) AS n FROM orders o "
        "LEFT JOIN returns r ON r.order_id = o.id GROUP BY o.status",
    ),
    "all_numbers": ("1 minute", "SELECT id FROM orders UNION ALL SELECT order_id FROM returns"),
    "categories": (
        "1 minute",
        "SELECT category, count(*) AS products, avg(price) AS mean FROM products GROUP BY category HAVING count(*) > 1",
    ),
}


def fill(ps: penstock.StreamTables) -> dict[str, Path]:
    """Make the shop; returns where its tables lie."""
    ps.sql(TABLES)
    for name, (lag, query) in STREAM_TABLES.items():
        ps.create_stream_table(name, query, lag)
    return {name: ps.path / "tables" / name for name in ("customers", "products", "orders", "returns")}
