"""A query shape: the query, and the hand-written MERGE that keeps its result up to date.

Both are texts with the shop's table names left open. A MERGE may also use

    {newest}   the last state of every changed order, deletions included: `_change_type` says which
    {signed}   every change of an order with `sign` +1 for a row that came and −1 for one that went
    {target}   the table that holds the result
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_FEED = "table_changes('{orders}', {first}, {last})"
_NEWEST = f"""(
    SELECT * EXCEPT (place) FROM (
      SELECT *, row_number() OVER (PARTITION BY id ORDER BY _commit_version DESC) AS place
      FROM {_FEED} WHERE _change_type <> 'update_preimage') WHERE place = 1)"""
_SIGNED = f"""(
    SELECT *, IF(_change_type IN ('insert', 'update_postimage'), 1, -1) AS sign FROM {_FEED})"""


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of query."""

    name: str
    query: str
    merge: str
    dimensions: tuple[str, ...] = ()
    """Tables other than orders that it reads."""

    def query_over(self, tables: Mapping[str, str]) -> str:
        """The query over a shop."""
        return self.query.format(**tables).strip()

    def merge_over(self, tables: Mapping[str, str], target: str, first: int, last: int) -> str:
        """The MERGE that carries the orders' commits from `first` to `last` into a target."""
        names = {**tables, "target": target, "first": first, "last": last}
        feeds = {"newest": _NEWEST.format(**names), "signed": _SIGNED.format(**names)}
        return self.merge.format(**names, **feeds).strip()
