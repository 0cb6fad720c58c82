"""Every order with its customer. The customers of neighbouring orders lie anywhere in their table."""

from __future__ import annotations

from benchmarks.shapes.shape import Shape

JOIN = Shape(
    "join",
    query="""
        SELECT o.id, o.amount, c.name, c.region FROM {orders} o JOIN {customers} c ON o.customer_id = c.id
    """,
    merge="""
        MERGE INTO {target} t USING (
          SELECT o.id, o.amount, c.name, c.region, o._change_type = 'delete' OR c.id IS NULL AS gone
          FROM {newest} o LEFT JOIN {customers} c ON o.customer_id = c.id
        ) s ON t.id = s.id
        WHEN MATCHED AND s.gone THEN DELETE
        WHEN MATCHED THEN UPDATE SET amount = s.amount, name = s.name, region = s.region
        WHEN NOT MATCHED AND NOT s.gone
          THEN INSERT (id, amount, name, region) VALUES (s.id, s.amount, s.name, s.region)
    """,
    dimensions=("customers",),
)
