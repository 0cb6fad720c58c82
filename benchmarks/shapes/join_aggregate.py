"""Count and sum per region of the customer, fifty groups."""

from __future__ import annotations

from benchmarks.shapes.shape import Shape

JOIN_AGGREGATE = Shape(
    "join + aggregate",
    query="""
        SELECT c.region, count(*) AS orders, sum(o.amount) AS total
        FROM {orders} o JOIN {customers} c ON o.customer_id = c.id GROUP BY c.region
    """,
    merge="""
        MERGE INTO {target} t USING (
          SELECT c.region, sum(o.sign) AS orders, sum(o.sign * o.amount) AS total
          FROM {signed} o JOIN {customers} c ON o.customer_id = c.id GROUP BY c.region
          HAVING orders <> 0 OR total <> 0
        ) s ON t.region = s.region
        WHEN MATCHED AND t.orders + s.orders = 0 THEN DELETE
        WHEN MATCHED THEN UPDATE SET orders = t.orders + s.orders, total = t.total + s.total
        WHEN NOT MATCHED THEN INSERT (region, orders, total) VALUES (s.region, s.orders, s.total)
    """,
    dimensions=("customers",),
)
