"""What happens to the tables: rounds in which everything moves, and two ticks of 0.1%."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import penstock
from benchmarks.tpch.order_keys import DATA, INSERTED
from benchmarks.tpch.refresh_functions import delete_orders, insert_orders
from benchmarks.tpch.updates import LEAST, come_and_go, move_nations, update_tables

TICK = 0.001


@dataclass
class History:
    """A repeatable history of changes; `rows` are the sizes of the tables as generated."""

    ps: penstock.StreamTables
    data: Path
    rows: dict[str, int]
    seed: int = 22
    share: float = 0.01
    """How much of a table one round touches."""
    _next: int = 1
    """The order index at which the next pair of refresh functions works; dbgen begins at the first."""
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    def round(self, turn: int) -> None:
        """RF1 and RF2, updates of every table, rows that come and go; turns count from 1."""
        count = max(8, round(self.rows["orders"] * self.share))
        # Half of what the round before inserted goes again.
        before = [(self._next - count, count // 2, INSERTED)] if self._next > count else []
        self._refresh_functions(count, *before)
        salt = self.seed * 1000 + turn * 20
        update_tables(self.ps, self.rows, self.share, salt, LEAST)
        move_nations(self.ps, turn)
        come_and_go(self.ps, self.data, self.rows, turn, self.seed)

    def tick_orders(self) -> None:
        """RF1 and RF2 together touch 0.1% of the orders, with their lines; nothing else changes."""
        self._refresh_functions(max(1, round(self.rows["orders"] * TICK / 2)))

    def tick_every_table(self) -> None:
        """The same, and 0.1% of the rows of every table with a thousand rows or more, scattered over all keys."""
        self.tick_orders()
        update_tables(self.ps, self.rows, TICK, self.seed * 1000, least=1)

    def _refresh_functions(self, count: int, *deleted: tuple[int, int, int]) -> None:
        first, orders = self._next, self.rows["orders"]
        insert_orders(self.ps, self.data, first, count, donor=self._dice.randrange(1, orders - count + 1))
        delete_orders(self.ps, (first, count, DATA), *deleted)
        self._next += count
