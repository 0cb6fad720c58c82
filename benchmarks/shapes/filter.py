"""A tenth of the rows; changes carry rows in and out of it."""

from __future__ import annotations

from benchmarks.shapes.shape import Shape

FILTER = Shape(
    "filter",
    query="SELECT id, amount, status FROM {orders} WHERE amount >= 900",
    merge="""
        MERGE INTO {target} t USING {newest} s ON t.id = s.id
        WHEN MATCHED AND (s._change_type = 'delete' OR s.amount < 900) THEN DELETE
        WHEN MATCHED THEN UPDATE SET amount = s.amount, status = s.status
        WHEN NOT MATCHED AND s._change_type <> 'delete' AND s.amount >= 900
          THEN INSERT (id, amount, status) VALUES (s.id, s.amount, s.status)
    """,
)
