"""Count and sum per product, a thousand groups."""

from __future__ import annotations

from benchmarks.shapes.shape import Shape

AGGREGATE = Shape(
    "aggregate",
    query="SELECT product_id, count(*) AS orders, sum(amount) AS total FROM {orders} GROUP BY product_id",
    merge="""
        MERGE INTO {target} t USING (
          SELECT product_id, sum(sign) AS orders, sum(sign * amount) AS total FROM {signed} GROUP BY product_id
          HAVING orders <> 0 OR total <> 0
        ) s ON t.product_id = s.product_id
        WHEN MATCHED AND t.orders + s.orders = 0 THEN DELETE
        WHEN MATCHED THEN UPDATE SET orders = t.orders + s.orders, total = t.total + s.total
        WHEN NOT MATCHED THEN INSERT (product_id, orders, total) VALUES (s.product_id, s.orders, s.total)
    """,
)
