"""First rows: ORDER BY … LIMIT … OFFSET at the top of a query, over stored rows.

    first k of R₁  =  first k of (stored − deleted + inserted),   if that has k rows up to the last stored one

Every row that is not stored comes after the last stored row, so the first k are among the stored and the changed rows
as long as k of these are left up to there, or the stored rows were all there is. Else the refresh asks the query for
its first rows again. The table stores the rows before OFFSET as hidden rows. The binder has made the order total.
"""

from __future__ import annotations

from penstock.compile.store_bag import BagStore
from penstock.compile.stored import (
    CHANGED,
    MINUS,
    OP,
    PLUS,
    SHOWN,
    StoredColumn,
    Summary,
    collected_leaf,
    stored_leaf,
)
from penstock.names import HIDDEN, WEIGHT, quote
from penstock.operators.consolidate import consolidate, group_by_bits, kept_by_bits
from penstock.operators.delta_query import DeltaQuery, Moment, Step
from penstock.operators.expression import Attribute, Expression
from penstock.operators.limit import Limit
from penstock.operators.operator import Operator
from penstock.operators.project import Project
from penstock.operators.types import equal_by_text

_NOW, _WAS = "`__ps_now`", "`__ps_was`"


class TopStore(BagStore):
    """The first rows, with the columns they are ordered by."""

    strategy = "first rows"
    difference_is_complete = True

    def __init__(self, root: Operator, visible: tuple[Attribute, ...], columns: tuple[StoredColumn, ...]) -> None:
        limit, items = split_limit(root)
        assert limit.limit is not None
        held = {attribute.id: attribute for attribute in limit.columns}
        shown = {expression.attribute for expression, attribute in items if attribute.id in {v.id for v in visible}}
        self._hidden = tuple(attribute for attribute in held.values() if attribute.id not in shown)
        hidden = tuple(
            StoredColumn(f"{HIDDEN}o{index}", attribute.type, None) for index, attribute in enumerate(self._hidden)
        )
        marks = (StoredColumn(SHOWN, "BOOLEAN", None),) if limit.offset else ()
        super().__init__(root, visible, columns)
        self._limit = limit
        self._items = items
        self._count = limit.limit + limit.offset
        self._rows = (*columns, *hidden)
        self._values = (*self._rows, *marks)
        self.columns = (*self._values, StoredColumn(WEIGHT, "BIGINT", None))

    def fill(self, query: DeltaQuery, moment: Moment) -> Step:
        first = self._first(query, moment)
        columns = ", ".join(quote(column.name) for column in self.columns)
        return query.statement("fill", f"SELECT {columns} FROM {quote(first)}", [first], "the first rows of the query")

    def _first(self, query: DeltaQuery, moment: Moment) -> str:
        child = self._limit.child.at(query, moment)
        order = self._limit.ordering()
        shown = f", row_number() OVER (ORDER BY {order}) > {self._limit.offset} AS {quote(SHOWN)}"
        sql = (
            f"SELECT {self._dressed()}, CAST(1 AS BIGINT) AS {quote(WEIGHT)}{shown if self._limit.offset else ''} "
            f"FROM {quote(child)} ORDER BY {order} LIMIT {self._count}"
        )
        return query.relation("first", sql, [child])

    def _dressed(self) -> str:
        """The storage columns, computed from a row of the limit's input."""
        held = self._limit.child.by_id
        computed = {attribute.id: expression.render(held) for expression, attribute in self._items}
        texts = [computed[attribute.id] for attribute in self._visible] + [each.sql for each in self._hidden]
        return ", ".join(f"{text} AS {quote(column.name)}" for text, column in zip(texts, self._rows, strict=True))

    def change(self, query: DeltaQuery) -> Step:
        net = consolidate(query, self._limit.child.delta(query), self._limit.child.columns)
        sql = f"SELECT {self._dressed()}, {quote(WEIGHT)} FROM {quote(net)}"
        return query.statement("delta", sql, [net], "the consolidated delta below the limit")

    def finish(self, query: DeltaQuery, change: Summary, phase: int = 0) -> Step | None:
        if phase == 0 and change.rows:
            return self._merged(query)
        if phase == 1 and "?" in change.operations:
            return self._settled(query, self._first(query, Moment.AFTER))
        return None

    def difference(self, query: DeltaQuery, fresh: str) -> Step:
        return self._settled(query, fresh)

    def _merged(self, query: DeltaQuery) -> Step:
        stored = stored_leaf(query, self)
        names = ", ".join(quote(column.name) for column in self._rows)
        changed = collected_leaf(query, CHANGED, (*(column.name for column in self._rows), WEIGHT))
        weight = quote(WEIGHT)
        typed = [(quote(column.name), column.type) for column in self._rows]
        together = query.relation(
            "together",
            f"SELECT {names}, {weight}, CAST(0 AS BIGINT) AS {_WAS} FROM {quote(changed)}\n  UNION ALL\n  "
            f"SELECT {names}, {weight}, {weight} FROM {quote(stored)}",
            [changed, stored],
        )
        summed = query.relation(
            "summed",
            f"SELECT {kept_by_bits(typed)}, greatest(sum({weight}), 0L) AS {_NOW}, sum({_WAS}) AS {_WAS} "
            f"FROM {quote(together)}{group_by_bits(typed)} HAVING sum({weight}) > 0 OR sum({_WAS}) > 0",
            [together],
        )
        order = self._order()
        placed = query.relation(
            "placed",
            f"SELECT *, sum({_NOW}) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) AS `__ps_upto`, "
            f"row_number() OVER (ORDER BY {order}) AS `__ps_place`, sum({_WAS}) OVER () AS `__ps_had` "
            f"FROM {quote(summed)}",
            [summed],
        )
        last = query.relation(
            "last",
            f"SELECT *, max(CASE WHEN {_WAS} > 0 THEN `__ps_place` END) OVER () AS `__ps_last` FROM {quote(placed)}",
            [placed],
        )
        enough = query.relation(
            "enough",
            f"SELECT *, `__ps_had` < {self._count} OR coalesce(sum(CASE WHEN `__ps_place` <= `__ps_last` "
            f"THEN {_NOW} END) OVER (), 0) >= {self._count} AS `__ps_enough` FROM {quote(last)}",
            [last],
        )
        parts = [self._part("false", 0, self._limit.offset)] if self._limit.offset else []
        parts.append(self._part("true", self._limit.offset, self._count))
        columns = ", ".join(quote(column.name) for column in self._rows)
        split = "\n  UNION ALL\n  ".join(
            f"SELECT {columns}{f', {shown} AS {quote(SHOWN)}' if self._limit.offset else ''}, "
            f"greatest(0L, {taken}) AS {weight}, `__ps_enough` FROM {quote(enough)}"
            for shown, taken in parts
        )
        first = query.relation("first", split, [enough])
        return self._settled(query, first, refill="NOT `__ps_enough`")

    @staticmethod
    def _part(shown: str, start: int, end: int) -> tuple[str, str]:
        """How many copies of a row have a place after `start`, up to `end`."""
        return shown, f"least(`__ps_upto`, {end}L) - greatest(`__ps_upto` - {_NOW}, {start}L)"

    def _settled(self, query: DeltaQuery, first: str, refill: str = "false") -> Step:
        """The change that leaves exactly the rows of `first`; everything anew where −0.0 and 0.0 could be confused."""
        stored = stored_leaf(query, self)
        values, weight, op = self._value_list(), quote(WEIGHT), quote(OP)
        both = query.relation(
            "both",
            f"SELECT {values}, {weight} AS {_NOW}, CAST(0 AS BIGINT) AS {_WAS}, {refill} AS `__ps_refill` "
            f"FROM {quote(first)}\n  UNION ALL\n  "
            f"SELECT {values}, CAST(0 AS BIGINT), {weight}, false FROM {quote(stored)}",
            [first, stored],
        )
        counted = query.relation(
            "counted",
            f"SELECT {kept_by_bits(self._typed())}, sum({_NOW}) AS {_NOW}, sum({_WAS}) AS {_WAS}, "
            f"max(max(`__ps_refill`)) OVER () AS `__ps_refill` FROM {quote(both)}{group_by_bits(self._typed())}",
            [both],
        )
        changed = f"{_NOW} <> {_WAS}"
        if any(equal_by_text(column.type) for column in self._values):
            changed = "true"
        counts = f"{_NOW} - {_WAS}" if not self._limit.offset else f"if({quote(SHOWN)}, {_NOW} - {_WAS}, 0L)"
        sql = (
            f"SELECT {values}, {_NOW} AS {weight}, CASE WHEN `__ps_refill` THEN '?' ELSE {op} END AS {op}, "
            f"if({op} = 'i', greatest({counts}, 0L), 0L) AS {quote(PLUS)}, "
            f"if({op} = 'd', greatest(-({counts}), 0L), 0L) AS {quote(MINUS)} "
            f"FROM {quote(counted)} CROSS JOIN (VALUES ('d'), ('i')) AS o({op})\n"
            f"WHERE `__ps_refill` OR ({changed} AND (({op} = 'd' AND {_WAS} > 0) OR ({op} = 'i' AND {_NOW} > 0)))"
        )
        return query.statement("settle", sql, [counted], "the first rows against the stored ones")

    def _order(self) -> str:
        """The order over storage columns."""
        columns = [quote(column.name) for column in self._rows]
        below = {attribute.id: expression.attribute for expression, attribute in self._items}
        origins = [below[attribute.id] for attribute in self._visible] + [each.id for each in self._hidden]
        places = {held: column for held, column in zip(origins, columns, strict=True) if held is not None}
        return ", ".join(
            f"{expression.render_with(lambda held: places[held])} {direction}"
            for expression, direction in self._limit.order
        )


def top_limit(root: Operator) -> Limit | None:
    """The limit at the top of a tree, below projections at most."""
    while isinstance(root, Project):
        root = root.child
    return root if isinstance(root, Limit) and root.limit is not None else None


def split_limit(root: Operator) -> tuple[Limit, tuple[tuple[Expression, Attribute], ...]]:
    """The limit, and what the projections above it compute, over the limit's columns."""
    if isinstance(root, Limit):
        return root, tuple((Expression((each.id,), each.type, each.nullable), each) for each in root.columns)
    assert isinstance(root, Project)
    limit, below = split_limit(root.child)
    inner = {attribute.id: expression for expression, attribute in below}
    items = tuple((_inlined(expression, inner), attribute) for expression, attribute in root.items)
    return limit, items


def _inlined(expression: Expression, inner: dict[int, Expression]) -> Expression:
    parts: list[str | int] = []
    for part in expression.parts:
        parts += [part] if isinstance(part, str) else inner[part].parts
    return Expression(tuple(parts), expression.type, expression.nullable)
