"""The difference of two bags as a delta: `after` with weight 1, `before` with weight −1."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.names import WEIGHT, quote
from penstock.operators.delta_query import DeltaQuery
from penstock.operators.expression import Attribute
from penstock.operators.operator import column_list


def after_minus_before(query: DeltaQuery, after: str, before: str, columns: Sequence[Attribute]) -> str:
    """Write the relation."""
    listed, weight = column_list(columns), quote(WEIGHT)
    sql = (
        f"SELECT {listed}, CAST(1 AS BIGINT) AS {weight} FROM {quote(after)}\n  UNION ALL\n  "
        f"SELECT {listed}, CAST(-1 AS BIGINT) AS {weight} FROM {quote(before)}"
    )
    return query.relation("difference", sql, [after, before])
