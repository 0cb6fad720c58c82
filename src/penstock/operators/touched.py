"""Touched keys: the groups or partitions that a delta belongs to, collected, and the rows of a child that lie in them.

    R ⋉ K          K = keys of ΔR, NULL being a key like any other

Only there can a group's row or a partition's values differ between the two ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.names import quote
from penstock.operators.delta_query import DeltaQuery, Moment
from penstock.operators.expression import Expression
from penstock.operators.operator import KeyRange, Operator, column_list

Keys = Sequence[tuple[Expression, str]]
"""Key expressions over the child's columns, each with the name of its column among the touched keys."""


def touched_keys(query: DeltaQuery, child: Operator, delta: str, keys: Keys, purpose: str) -> str:
    """Collect the keys that the child's delta touches."""
    return query.collect_distinct(delta, [(expression.render(child.by_id), name) for expression, name in keys], purpose)


def touched_rows(
    query: DeltaQuery,
    child: Operator,
    moment: Moment,
    touched: str,
    keys: Keys,
    collected: tuple[str, Sequence[str]] | None = None,
) -> str:
    """The child's rows at a moment whose keys are touched.

    `collected` names the step that holds the touched keys and its columns; by default it is `touched` itself.
    """
    step, columns = collected or (touched, [name for _, name in keys])
    ranges = tuple(
        KeyRange(expression.attribute, step, column)
        for (expression, _), column in zip(keys, columns, strict=True)
        if expression.attribute is not None
    )
    rows = child.at(query, moment, ranges)
    held = child.by_id
    match = " AND ".join(
        f"(k.{quote(name)} <=> {expression.render_with(lambda attribute: 'r.' + held[attribute].sql)})"
        for expression, name in keys
    )
    listed = column_list(child.columns, prefix="r.")
    sql = f"SELECT {listed} FROM {quote(rows)} r LEFT SEMI JOIN {quote(touched)} k ON {match}"
    return query.relation("touched_rows", sql, [rows, touched])
