"""Every order with its basket. The baskets of neighbouring orders are neighbours, as with order lines and orders."""

from __future__ import annotations

from benchmarks.shapes.shape import Shape

CLUSTERED_JOIN = Shape(
    "clustered join",
    query="""
        SELECT o.id, o.amount, b.shop, b.placed FROM {orders} o JOIN {baskets} b ON o.basket_id = b.id
    """,
    merge="""
        MERGE INTO {target} t USING (
          SELECT o.id, o.amount, b.shop, b.placed, o._change_type = 'delete' OR b.id IS NULL AS gone
          FROM {newest} o LEFT JOIN {baskets} b ON o.basket_id = b.id
        ) s ON t.id = s.id
        WHEN MATCHED AND s.gone THEN DELETE
        WHEN MATCHED THEN UPDATE SET amount = s.amount, shop = s.shop, placed = s.placed
        WHEN NOT MATCHED AND NOT s.gone
          THEN INSERT (id, amount, shop, placed) VALUES (s.id, s.amount, s.shop, s.placed)
    """,
    dimensions=("baskets",),
)
