"""Count and sum per region of the customer and category of the product, a thousand groups."""

from __future__ import annotations

from benchmarks.shapes.shape import Shape

MULTI_JOIN = Shape(
    "multi-join + aggregate",
    query="""
        SELECT c.region, p.category, count(*) AS orders, sum(o.amount) AS total
        FROM {orders} o JOIN {customers} c ON o.customer_id = c.id JOIN {products} p ON o.product_id = p.id
        GROUP BY c.region, p.category
    """,
    merge="""
        MERGE INTO {target} t USING (
          SELECT c.region, p.category, sum(o.sign) AS orders, sum(o.sign * o.amount) AS total
          FROM {signed} o JOIN {customers} c ON o.customer_id = c.id JOIN {products} p ON o.product_id = p.id
          GROUP BY c.region, p.category
          HAVING orders <> 0 OR total <> 0
        ) s ON t.region = s.region AND t.category = s.category
        WHEN MATCHED AND t.orders + s.orders = 0 THEN DELETE
        WHEN MATCHED THEN UPDATE SET orders = t.orders + s.orders, total = t.total + s.total
        WHEN NOT MATCHED
          THEN INSERT (region, category, orders, total) VALUES (s.region, s.category, s.orders, s.total)
    """,
    dimensions=("customers", "products"),
)
