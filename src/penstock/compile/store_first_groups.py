"""First groups: ORDER BY … LIMIT … OFFSET over an aggregate at the top of a query.

    first k of γ(R₁)  =  first k of (touched groups, shown groups, first k of the hidden groups)

The table stores all groups and maintains them as `store_groups` does; those outside the limit are hidden. So a
comparison of stored rows moves a group in or out, and a refresh reads the sources for the touched groups only. The
binder has made the order total.
"""

from __future__ import annotations

from penstock.compile.store_groups import GroupStore, top_aggregate
from penstock.compile.store_top import split_limit, top_limit
from penstock.compile.stored import CHANGED, MINUS, OP, PLUS, SHOWN, StoredColumn, Summary, collected_leaf, stored_leaf
from penstock.names import HIDDEN, quote
from penstock.operators.delta_query import DeltaQuery, Moment, Step
from penstock.operators.expression import Attribute
from penstock.operators.operator import Operator

PASSED = f"{HIDDEN}passed"
"""HAVING lets the group through, whether or not it is among the first."""

_PLACE = f"`{HIDDEN}place`"
_TOUCHED = f"`{HIDDEN}touched`"
_AMONG = f"`{HIDDEN}among`"


class FirstGroupsStore(GroupStore):
    """One row per group, of which the first in the order are shown."""

    finish_replaces = True

    def __init__(
        self,
        root: Operator,
        visible: tuple[Attribute, ...],
        columns: tuple[StoredColumn, ...],
        settings: dict[str, str],
    ) -> None:
        limit, items = split_limit(root)
        assert limit.limit is not None
        origin = {attribute.id: expression.attribute for expression, attribute in items}
        held = limit.by_id
        shown = [held[below] for each in visible if (below := origin[each.id]) is not None]
        unseen = [each for each in limit.columns if each not in shown]
        values = tuple(StoredColumn(f"{HIDDEN}by{index}", each.type, None) for index, each in enumerate(unseen))
        super().__init__(limit.child, (*shown, *unseen), (*columns, *values), settings)
        self.root = root
        self.strategy = f"{self.strategy}, the first shown"
        places = {each.id: quote(column.name) for each, column in zip(self._visible, self._values, strict=True)}
        self._order = ", ".join(
            f"{expression.render_with(places.__getitem__)} {direction}" for expression, direction in limit.order
        )
        self._from, self._to = limit.offset, limit.offset + limit.limit

    def _marks(self) -> tuple[StoredColumn, ...]:
        passed = (StoredColumn(PASSED, "BOOLEAN", None),) if self._filtered else ()
        return (*passed, StoredColumn(SHOWN, "BOOLEAN", None))

    @property
    def _decided(self) -> tuple[StoredColumn, ...]:
        return tuple(column for column in self.columns if column.name != SHOWN)

    @property
    def _passed(self) -> str:
        return quote(PASSED) if self._filtered else "TRUE"

    def fill(self, query: DeltaQuery, moment: Moment) -> Step:
        rows = self._dressed(query, self._grouped(query, self._aggregate.child.at(query, moment)))
        placed = self._placed(query, rows)
        listed = ", ".join(quote(column.name) for column in self._decided)
        sql = f"SELECT {listed}, {_AMONG} AS {quote(SHOWN)} FROM {quote(placed)}"
        return query.statement("fill", sql, [placed], "all groups of the query, the first of them marked")

    def _placed(self, query: DeltaQuery, rows: str) -> str:
        """The rows, each with whether it is among the first of them."""
        place = query.relation(
            "place",
            f"SELECT *, row_number() OVER (ORDER BY {self._passed} DESC, {self._order}) AS {_PLACE} FROM {quote(rows)}",
            [rows],
        )
        among = f"{self._passed} AND {_PLACE} > {self._from} AND {_PLACE} <= {self._to}"
        return query.relation("placed", f"SELECT *, ({among}) AS {_AMONG} FROM {quote(place)}", [place])

    def finish(self, query: DeltaQuery, change: Summary, phase: int = 0) -> Step | None:
        if phase or not change.rows or "!" in change.operations:
            return None
        listed, counts = self._list(), f"{quote(OP)}, {quote(PLUS)}, {quote(MINUS)}"
        changed = collected_leaf(query, CHANGED, (*(column.name for column in self.columns), OP, PLUS, MINUS))
        anew = super().finish(query, change)
        if anew is not None:
            settled = query.relation("anew", anew.sql, [leaf.name for leaf in anew.leaves])
            changed = query.relation(
                "changes",
                f"SELECT {listed}, {counts} FROM {quote(changed)} WHERE {quote(OP)} <> '?'\n  UNION ALL\n  "
                f"SELECT {listed}, {counts} FROM {quote(settled)}",
                [changed, settled],
            )
        return self._moved(query, changed)

    def _moved(self, query: DeltaQuery, changed: str) -> Step:
        """Changed groups and groups that move across the limit, each as it is to be stored.

        A changed row came with counts as if every group that HAVING lets through were shown.
        """
        stored = stored_leaf(query, self)
        shown, op, plus, minus = map(quote, (SHOWN, OP, PLUS, MINUS))
        listed = self._list()
        match = " AND ".join(f"(s.{quote(name)} <=> c.{quote(name)})" for name, _ in self._keys)
        rest = query.relation(
            "rest",
            f"SELECT {listed}, FALSE AS {_TOUCHED}, {shown} AS `__ps_was`, {shown} AS `__ps_steady` "
            f"FROM {quote(stored)} s LEFT ANTI JOIN {quote(changed)} c ON {match} "
            f"ORDER BY {shown} DESC, {self._passed} DESC, {self._order} LIMIT {self._to + self._to - self._from}",
            [stored, changed],
        )
        steady = f"({self._passed} AND {plus} = 0)"
        candidates = query.relation(
            "candidates",
            f"SELECT {listed}, TRUE AS {_TOUCHED}, {minus} = 1 OR {steady} AS `__ps_was`, {steady} AS `__ps_steady` "
            f"FROM {quote(changed)} WHERE {op} = 'u'\n  UNION ALL\n  SELECT * FROM {quote(rest)}",
            [changed, rest],
        )
        placed = self._placed(query, candidates)
        decided = ", ".join(quote(column.name) for column in self._decided)
        sql = (
            f"SELECT {decided}, {_AMONG} AS {shown}, 'u' AS {op}, "
            f"CASE WHEN {_AMONG} AND NOT `__ps_steady` THEN 1L ELSE 0L END AS {plus}, "
            f"CASE WHEN `__ps_was` AND NOT (`__ps_steady` AND {_AMONG}) THEN 1L ELSE 0L END AS {minus}\n"
            f"FROM {quote(placed)} WHERE {_TOUCHED} OR {_AMONG} <> `__ps_was`\nUNION ALL\n"
            f"SELECT {decided}, {shown}, {op}, {plus}, {minus} FROM {quote(changed)} WHERE {op} = 'd'"
        )
        return query.statement("move", sql, [placed, changed], "groups that move across the limit")


def first_groups(root: Operator) -> bool:
    """True if the tree is a limit over groups, with nothing but a choice of columns above the limit."""
    limit = top_limit(root)
    if limit is None:
        return False
    below = top_aggregate(limit.child)
    _, items = split_limit(root)
    return below is not None and bool(below.keys) and all(item.attribute is not None for item, _ in items)
