"""What the change feed costs the writer: one UPDATE on two copies of a table, one with the feed and one without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import penstock
from benchmarks.bench import Bench
from benchmarks.cell import Cell
from benchmarks.contenders.contender import Contender
from benchmarks.shop import CLUSTERED, SCATTERED
from benchmarks.turns import take_turns
from benchmarks.workloads.workload import Measured, Workload

ROWS = 1_000_000
WITH, WITHOUT = "with feed", "without feed"


@dataclass
class Update(Contender):
    """An UPDATE of some rows."""

    ps: penstock.StreamTables
    table: str
    where: str

    def run(self) -> None:
        """Update them."""
        self.ps.spark.sql(f"UPDATE {self.table} SET amount = amount + 1 WHERE {self.where}")

    def exact(self) -> bool:
        """Nothing to check."""
        return True


@dataclass(frozen=True)
class ChangeFeed(Workload):
    """1% of a million rows, together and spread."""

    parts: tuple[str, ...] = (CLUSTERED, SCATTERED)

    @property
    def title(self) -> str:
        """What it is."""
        return "change feed 1M, 1%"

    @property
    def minutes(self) -> float:
        """The shop included."""
        return 2.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """One."""
        return (ROWS,)

    def run(self, bench: Bench) -> Iterator[Measured]:
        """Copies of the orders; the shop's own stay as they are."""
        shop = bench.shop(ROWS)
        copies = {WITH: f"{shop.schema}.with_feed", WITHOUT: f"{shop.schema}.without_feed"}
        for name, table in copies.items():
            on = "true" if name == WITH else "false"
            properties = f"'delta.enableChangeDataFeed' = '{on}'"
            bench.ps.sql(f"CREATE TABLE {table} TBLPROPERTIES ({properties}) AS SELECT * FROM {shop.tables['orders']}")
        for part in self.parts:
            where = f"id >= {shop.rows - shop.rows // 100}" if part == CLUSTERED else "id % 100 = 7"
            group = [Update(name, bench.ps, table, where) for name, table in copies.items()]
            take_turns([group], lambda: None, bench.repeats, bench.budget)
            times = {each.name: each.samples for each in group}
            yield Measured(Cell("change feed", part, shop.size, shop.rows, shop.rows // 100, part, times))
        for table in copies.values():
            bench.ps.sql(f"DROP TABLE {table}")
