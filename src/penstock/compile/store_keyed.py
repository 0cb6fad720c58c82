"""A declared key: at most one row per key, matched null-safely.

    new row of key k  =  stored rows of k + Δ rows of k,   which must leave at most one

The key is checked where it is touched, at every refresh; if two rows remain for a key, nothing is committed.
"""

from __future__ import annotations

from penstock.compile.stored import CHANGED, MINUS, OP, PLUS, Store, StoredColumn, Summary, collected_leaf, stored_leaf
from penstock.names import WEIGHT, quote
from penstock.operators.consolidate import consolidate, group_by_bits, kept_by_bits
from penstock.operators.delta_query import DeltaQuery, Moment, Step, Within
from penstock.operators.expression import Attribute
from penstock.operators.operator import Operator

DOUBLED = "*"
"""Operation of a key that more than one row claims."""


class KeyedStore(Store):
    """Result rows under a key that the user declared."""

    strategy = "declared key"
    finish_replaces = True

    def __init__(
        self,
        root: Operator | None,
        visible: tuple[Attribute, ...],
        columns: tuple[StoredColumn, ...],
        key: tuple[str, ...],
    ) -> None:
        self.root = root
        self.columns = columns
        self.key = key
        self._visible = visible

    def fill(self, query: DeltaQuery, moment: Moment) -> Step:
        assert self.root is not None
        rows = self.root.at(query, moment)
        return query.statement("fill", f"SELECT {self._named()} FROM {quote(rows)}", [rows], "all rows of the query")

    def change(self, query: DeltaQuery) -> Step:
        assert self.root is not None
        net = consolidate(query, self.root.delta(query), self._visible)
        sql = f"SELECT {self._named()}, {quote(WEIGHT)} FROM {quote(net)}"
        return query.statement("delta", sql, [net], "the consolidated delta")

    def finish(self, query: DeltaQuery, change: Summary, phase: int = 0) -> Step | None:
        if phase or change.rows == 0:
            return None
        changed = collected_leaf(query, CHANGED, (*(column.name for column in self.columns), WEIGHT))
        keys = query.relation("keys", f"SELECT DISTINCT {self._key_list()} FROM {quote(changed)}", [changed])
        stored = stored_leaf(query, self, (Within(name, CHANGED, name) for name in self.key or ()))
        match = " AND ".join(f"(s.{quote(name)} <=> k.{quote(name)})" for name in self.key or ())
        held = query.relation(
            "held",
            f"SELECT {', '.join('s.' + quote(column.name) for column in self.columns)} "
            f"FROM {quote(stored)} s LEFT SEMI JOIN {quote(keys)} k ON {match}",
            [stored, keys],
        )
        return self._settled(query, held, f"SELECT {self._list()}, {quote(WEIGHT)} FROM {quote(changed)}", [changed])

    def difference(self, query: DeltaQuery, fresh: str) -> Step:
        stored = stored_leaf(query, self)
        delta = (
            f"SELECT {self._list()}, CAST(1 AS BIGINT) AS {quote(WEIGHT)} FROM {quote(fresh)} UNION ALL "
            f"SELECT {self._list()}, CAST(-1 AS BIGINT) AS {quote(WEIGHT)} FROM {quote(stored)}"
        )
        return self._settled(query, stored, delta, [fresh, stored])

    def _settled(self, query: DeltaQuery, held: str, delta: str, uses: list[str]) -> Step:
        columns, weight = self._list(), quote(WEIGHT)
        typed = [(quote(column.name), column.type) for column in self.columns]
        total = query.relation(
            "total",
            f"SELECT {kept_by_bits(typed)}, sum({weight}) AS {weight}, sum(`__ps_was`) AS `__ps_was` FROM (\n"
            f"  SELECT {columns}, {weight}, CAST(0 AS BIGINT) AS `__ps_was` FROM ({delta})\n  UNION ALL\n"
            f"  SELECT {columns}, CAST(1 AS BIGINT), CAST(1 AS BIGINT) FROM {quote(held)}){group_by_bits(typed)}",
            [held, *uses],
        )
        per_key = query.relation(
            "per_key",
            f"SELECT *, sum({weight}) OVER (PARTITION BY {self._key_list()}) AS `__ps_rows`, "
            f"min({weight}) OVER (PARTITION BY {self._key_list()}) AS `__ps_least`, "
            f"sum(`__ps_was`) OVER (PARTITION BY {self._key_list()}) AS `__ps_had`, "
            f"max(CASE WHEN {weight} = 1 AND `__ps_was` = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY {self._key_list()}) "
            f"AS `__ps_kept` FROM {quote(total)}",
            [total],
        )
        op = (
            f"CASE WHEN `__ps_least` < 0 THEN '!' WHEN `__ps_rows` > 1 THEN '{DOUBLED}' "
            f"WHEN {weight} = 1 THEN 'u' ELSE 'd' END"
        )
        sql = (
            f"SELECT {columns}, {op} AS {quote(OP)}, CASE WHEN {weight} = 1 THEN 1L ELSE 0L END AS {quote(PLUS)}, "
            f"CASE WHEN `__ps_had` > 0 THEN 1L ELSE 0L END AS {quote(MINUS)} FROM {quote(per_key)}\n"
            f"WHERE `__ps_rows` > 1 OR `__ps_least` < 0 OR (`__ps_rows` = 1 AND {weight} = 1 AND `__ps_kept` = 0) "
            f"OR (`__ps_rows` = 0 AND `__ps_was` > 0)"
        )
        return query.statement("settle", sql, [per_key], "the row that each touched key is left with")

    def _list(self) -> str:
        return ", ".join(quote(column.name) for column in self.columns)

    def _key_list(self) -> str:
        return ", ".join(quote(name) for name in self.key or ())

    def _named(self) -> str:
        return ", ".join(
            f"{attribute.sql} AS {quote(column.name)}"
            for attribute, column in zip(self._visible, self.columns, strict=True)
        )
