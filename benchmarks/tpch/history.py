"""What happens to the tables: rounds in which everything moves, and two ticks of 0.1%."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import penstock
from benchmarks.tpch.order_keys import DATA, INSERTED
from benchmarks.tpch.refresh_functions import delete_orders, insert_orders
from benchmarks.tpch.updates import come_and_go, move_nations, update_tables

TICK = 0.001
_OPEN_COST = "spark.sql.files.openCostInBytes"


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
        """Everything that there is; turns count from 1."""
        self.refresh_functions()
        self.update(turn)
        self.move_nations(turn)
        self.come_and_go(turn)

    def tick_orders(self) -> None:
        """RF1 and RF2 together touch 0.1% of the orders, with their lines; nothing else changes."""
        self.refresh_functions(TICK / 2, again=False)

    def tick_every_table(self) -> None:
        """The same, and 0.1% of the rows of every table with a thousand rows or more, scattered over all keys."""
        self.tick_orders()
        with _file_by_file(self.ps):
            update_tables(self.ps, self.rows, TICK, self.seed * 1000, least=1)

    def refresh_functions(self, share: float | None = None, again: bool = True) -> None:
        """RF1 and RF2 over the next orders; with `again`, half of what was inserted before them is deleted as well."""
        first, orders = self._next, self.rows["orders"]
        count = max(1, round(orders * (self.share if share is None else share)))
        before = [(max(1, first - count), min(count // 2, first - 1), INSERTED)] if again and first > 1 else []
        with _file_by_file(self.ps):
            insert_orders(self.ps, self.data, first, count, donor=self._dice.randrange(1, orders - count + 1))
            delete_orders(self.ps, (first, count, DATA), *before)
        self._next += count

    def update(self, turn: int) -> None:
        """Updates of the six large tables."""
        with _file_by_file(self.ps):
            update_tables(self.ps, self.rows, self.share, self.seed * 1000 + turn * 20)

    def move_nations(self, turn: int) -> None:
        """Updates of the two small ones; every second turn undoes the one before."""
        move_nations(self.ps, turn)

    def come_and_go(self, turn: int) -> None:
        """Rows without which others dangle; every second turn brings back what the one before took."""
        with _file_by_file(self.ps):
            come_and_go(self.ps, self.data, self.rows, turn, self.seed)


@contextmanager
def _file_by_file(ps: penstock.StreamTables) -> Iterator[None]:
    """Let a statement rewrite every file on its own, as Spark does with files of the usual size.

    Otherwise it packs our small ones together, in no order, and after the first update no file could be skipped.
    """
    ps.spark.conf.set(_OPEN_COST, str(128 * 1024 * 1024))
    try:
        yield
    finally:
        ps.spark.conf.unset(_OPEN_COST)
