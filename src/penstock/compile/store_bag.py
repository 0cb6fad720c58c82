"""A bag: rows without a key, each physical row standing for `__ps_weight` equal rows.

    change  =  the consolidated delta

New rows are appended blindly, so a value may lie in several physical rows; its multiplicity is their sum. To take rows
back, the physical rows of the touched values are read, all of them removed, and one row with the new sum is added.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.compile.stored import CHANGED, MINUS, OP, PLUS, Store, StoredColumn, Summary, collected_leaf, stored_leaf
from penstock.names import WEIGHT, quote
from penstock.operators.consolidate import consolidate, group_by_bits, kept_by_bits
from penstock.operators.delta_query import BagTotals, DeltaQuery, Moment, PlainChange, Step, Within
from penstock.operators.expression import Attribute
from penstock.operators.operator import Operator
from penstock.operators.types import equal_by_text


class BagStore(Store):
    """Result rows with their multiplicity."""

    key = None
    strategy = "bag"
    finish_replaces = True
    difference_is_complete = False

    def __init__(
        self, root: Operator | None, visible: tuple[Attribute, ...], columns: tuple[StoredColumn, ...]
    ) -> None:
        self.root = root
        self._visible = visible
        self._values = columns
        self.columns = (*columns, StoredColumn(WEIGHT, "BIGINT", None))

    def fill(self, query: DeltaQuery, moment: Moment) -> Step:
        assert self.root is not None
        rows = self.root.at(query, moment)
        sql = f"SELECT {self._named()}, CAST(1 AS BIGINT) AS {quote(WEIGHT)} FROM {quote(rows)}"
        return query.statement("fill", sql, [rows], "all rows of the query")

    def change(self, query: DeltaQuery) -> Step:
        assert self.root is not None
        delta = self.root.delta(query)
        net = consolidate(query, delta, self._visible)
        sql = f"SELECT {self._named()}, {quote(WEIGHT)} FROM {quote(net)}"
        step = query.statement("delta", self._counted(sql), [net], "the consolidated delta")
        rows = query.plain(delta)
        rows = rows and rows.named(
            (attribute.column, column.name) for attribute, column in zip(self._visible, self._values, strict=True)
        )
        return step if rows is None else replace(step, shortcut=PlainChange(rows))

    def finish(self, query: DeltaQuery, change: Summary, phase: int = 0) -> Step | None:
        if phase or change.least_weight is None or change.least_weight > 0:
            return None
        return self._resummed(query, collected_leaf(query, CHANGED, (*self._value_names, WEIGHT)))

    def difference(self, query: DeltaQuery, fresh: str) -> Step:
        stored = stored_leaf(query, self)
        values, weight = self._value_list(), quote(WEIGHT)
        sql = (
            f"SELECT {kept_by_bits(self._typed())}, sum({weight}) AS {weight} FROM (\n"
            f"  SELECT {values}, {weight} FROM {quote(fresh)}\n  UNION ALL\n"
            f"  SELECT {values}, -{weight} FROM {quote(stored)})"
            f"{group_by_bits(self._typed())} HAVING sum({weight}) <> 0"
        )
        return query.statement("diff", self._counted(sql), [fresh, stored], "recomputed rows minus stored rows")

    def _resummed(self, query: DeltaQuery, changed: str) -> Step:
        """New multiplicities of every value that lost copies; values that only gained are plain additions."""
        stored = stored_leaf(query, self, (Within(name, CHANGED, name) for name in self._value_names))
        values, weight = self._value_list(), quote(WEIGHT)
        match = " AND ".join(
            _equal(f"s.{quote(column.name)}", f"c.{quote(column.name)}", column) for column in self._values
        )
        together = query.relation(
            "together",
            f"SELECT {values}, {weight}, CAST(0 AS BIGINT) AS `__ps_was` FROM {quote(changed)}\n  UNION ALL\n  "
            f"SELECT {', '.join(f's.{quote(name)}' for name in self._value_names)}, s.{weight}, s.{weight} "
            f"FROM {quote(stored)} s LEFT SEMI JOIN (SELECT * FROM {quote(changed)} WHERE {weight} < 0) c ON {match}",
            [changed, stored],
        )
        summed = query.relation(
            "summed",
            f"SELECT {kept_by_bits(self._typed())}, sum({weight}) AS {weight}, sum(`__ps_was`) AS `__ps_was` "
            f"FROM {quote(together)}"
            f"{group_by_bits(self._typed())}",
            [together],
        )
        op = quote(OP)
        # An applier finds rows by equality, for which −0.0 and 0.0 are one value: one row with 'd' takes both away.
        zeros = [column for column in self._values if column.type in {"FLOAT", "DOUBLE"}]
        once, first = (self._once(query, summed), " AND `__ps_nth` = 1") if zeros else (summed, "")
        sql = (
            f"SELECT {values}, {weight}, {op} FROM {quote(once)} CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o({op})\n"
            f"WHERE ({op} = '!' AND {weight} < 0) OR ({op} = 'd' AND `__ps_was` > 0 AND {weight} >= 0{first}) "
            f"OR ({op} = 'i' AND {weight} > 0)"
        )
        step = query.statement("resum", sql, [once], "new multiplicities of the touched values")
        return replace(step, shortcut=BagTotals(changed, stored, self._value_names))

    def _once(self, query: DeltaQuery, summed: str) -> str:
        gone = f"(`__ps_was` > 0 AND {quote(WEIGHT)} >= 0)"
        keys = [
            quote(column.name)
            if column.type in {"FLOAT", "DOUBLE"} or not equal_by_text(column.type)
            else f"CAST({quote(column.name)} AS STRING)"
            for column in self._values
        ]
        nth = f"row_number() OVER (PARTITION BY {', '.join([gone, *keys])} ORDER BY {quote(WEIGHT)})"
        return query.relation("once", f"SELECT *, {nth} AS `__ps_nth` FROM {quote(summed)}", [summed])

    def _counted(self, sql: str) -> str:
        weight = quote(WEIGHT)
        return (
            f"SELECT *, 'i' AS {quote(OP)}, greatest({weight}, 0) AS {quote(PLUS)}, "
            f"greatest(-{weight}, 0) AS {quote(MINUS)} FROM (\n{sql}\n)"
        )

    @property
    def _value_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self._values)

    def _value_list(self) -> str:
        return ", ".join(quote(name) for name in self._value_names)

    def _typed(self) -> list[tuple[str, str]]:
        return [(quote(column.name), column.type) for column in self._values]

    def _named(self) -> str:
        return ", ".join(
            f"{attribute.sql} AS {quote(column.name)}"
            for attribute, column in zip(self._visible, self._values, strict=True)
        )


def _equal(left: str, right: str, column: StoredColumn) -> str:
    """Null-safe equality that also exists for maps. It may be coarser than bits: the rows are summed by bits after."""
    if equal_by_text(column.type) and "MAP" in column.type:
        return f"(CAST({left} AS STRING) <=> CAST({right} AS STRING))"
    return f"({left} <=> {right})"
