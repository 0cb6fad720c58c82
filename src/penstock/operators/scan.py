"""Scan: the rows of a table.

    ΔT  =  the interval's change rows, added +1, removed −1, netted

A scan of a stream table multiplies by the stored weight and leaves hidden groups out; the engine does both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.names import WEIGHT, quote
from penstock.operators.delta_query import DeltaQuery, Leaf, LeafKind, Moment, Plain
from penstock.operators.expression import Attribute
from penstock.operators.operator import KeyRange, Operator, select_list
from penstock.operators.source import Source


@dataclass(frozen=True, slots=True)
class Scan(Operator):
    """The columns of one table that the query reads."""

    source: Source
    read: tuple[tuple[str, Attribute], ...]

    name = "scan"
    rule = "the interval's change rows, netted"

    @property
    def columns(self) -> tuple[Attribute, ...]:
        return tuple(attribute for _, attribute in self.read)

    @property
    def children(self) -> tuple[Operator, ...]:
        return ()

    @property
    def sources(self) -> frozenset[Source]:
        return frozenset({self.source})

    def moved(self, query: DeltaQuery) -> bool:
        return self.source.id in query.moved

    def at(self, query: DeltaQuery, moment: Moment, within: tuple[KeyRange, ...] = ()) -> str:
        if self.source.id not in query.moved:
            moment = Moment.AFTER
        named = {attribute.id: column for column, attribute in self.read}
        leaf = query.leaf(
            Leaf(
                query.fresh_leaf_name(moment.value, self.source.name),
                LeafKind.AT,
                tuple(column for column, _ in self.read),
                self.source,
                moment,
                tuple(each.on(named[each.attribute]) for each in within if each.attribute in named),
            )
        )
        return self._renamed(query, leaf, f"SELECT {select_list(self._items())} FROM {quote(leaf)}")

    def delta(self, query: DeltaQuery) -> str:
        leaf = query.leaf(
            Leaf(
                query.fresh_leaf_name("changes", self.source.name),
                LeafKind.CHANGES,
                (*(column for column, _ in self.read), WEIGHT),
                self.source,
            )
        )
        return self._renamed(query, leaf, f"SELECT {select_list(self._items(), True)} FROM {quote(leaf)}")

    def _renamed(self, query: DeltaQuery, leaf: str, sql: str) -> str:
        plain = Plain(leaf, {attribute.column: column for column, attribute in self.read})
        return query.relation("scan", sql, [leaf], plain)

    def _items(self) -> list[tuple[str, Attribute]]:
        return [(quote(column), attribute) for column, attribute in self.read]

    def pruned(self, wanted: frozenset[int]) -> Operator:
        # A row must keep one column to be counted by.
        return replace(self, read=tuple(each for each in self.read if each[1].id in wanted) or self.read[:1])

    def detail(self) -> str:
        kind = "stream table " if self.source.is_stream_table else ""
        return f"{kind}{self.source.name} ({', '.join(column for column, _ in self.read)})"
