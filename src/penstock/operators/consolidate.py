"""Consolidation: one row per distinct row, weights summed, zeros dropped.

Two rows are equal if their bits are: −0.0 and 0.0 are one value in SQL and two values in a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.names import WEIGHT, quote
from penstock.operators.delta_query import DeltaQuery
from penstock.operators.expression import Attribute
from penstock.operators.types import equal_by_text


def consolidate(query: DeltaQuery, delta: str, columns: Sequence[Attribute]) -> str:
    """The delta with equal rows merged and cancelled rows gone."""
    weight = quote(WEIGHT)
    typed = [(each.sql, each.type) for each in columns]
    sql = (
        f"SELECT {kept_by_bits(typed) if columns else '1 AS `__ps_none`'}, sum({weight}) AS {weight} "
        f"FROM {quote(delta)}{group_by_bits(typed)} HAVING sum({weight}) <> 0"
    )
    return query.relation("net", sql, [delta])


def group_by_bits(columns: Sequence[tuple[str, str]]) -> str:
    """A GROUP BY clause over (SQL, type) pairs that distinguishes values to the bit."""
    keys = [sql for sql, _ in columns]
    keys += [f"CAST({sql} AS STRING)" for sql, type_ in columns if equal_by_text(type_)]
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def kept_by_bits(columns: Sequence[tuple[str, str]]) -> str:
    """The columns as a select list above `group_by_bits`: Spark turns a −0.0 that it groups by into 0.0."""
    return ", ".join(f"any_value({sql}) AS {sql}" if equal_by_text(type_) else sql for sql, type_ in columns)
