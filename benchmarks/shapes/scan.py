"""Some columns of every row."""

from __future__ import annotations

from benchmarks.shapes.shape import Shape

SCAN = Shape(
    "scan",
    query="SELECT id, customer_id, amount FROM {orders}",
    merge="""
        MERGE INTO {target} t USING {newest} s ON t.id = s.id
        WHEN MATCHED AND s._change_type = 'delete' THEN DELETE
        WHEN MATCHED THEN UPDATE SET customer_id = s.customer_id, amount = s.amount
        WHEN NOT MATCHED AND s._change_type <> 'delete'
          THEN INSERT (id, customer_id, amount) VALUES (s.id, s.customer_id, s.amount)
    """,
)
