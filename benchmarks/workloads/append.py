"""A million rows, 1% changed: a refresh against appending just the changed rows, which is the floor of any writing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deltalake import DeltaTable

from benchmarks.bench import Bench
from benchmarks.cell import APPEND, REFRESH
from benchmarks.contenders.append import Append
from benchmarks.shapes import FIVE
from benchmarks.shop import CLUSTERED, Shop
from benchmarks.turns import take_turns
from benchmarks.workloads.lineup import lineup, measured
from benchmarks.workloads.workload import Measured, Workload

ROWS = 1_000_000


@dataclass(frozen=True)
class AgainstAppend(Workload):
    """The changed rows lie ready in a Delta table before anything is timed."""

    parts: tuple[str, ...] = FIVE
    spread: str = CLUSTERED

    @property
    def title(self) -> str:
        """What it is."""
        return f"append 1M, 1% {self.spread}"

    @property
    def minutes(self) -> float:
        """The shop included."""
        return 2.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """One."""
        return (ROWS,)

    def run(self, bench: Bench) -> Iterator[Measured]:
        """One append per shape and turn, so that both sides are timed within the same second."""
        shop = bench.shop(ROWS)
        changed = shop.rows // 100
        ready = str(bench.folder / f"delta-rows-{self.spread}")

        def change() -> None:
            shop.change(changed, self.spread)
            _changed_rows(shop, ready)

        groups = [
            [*lineup(bench, shop, part, (REFRESH,)), Append(APPEND, bench.ps, ready, f"{ready}-appended-{place}")]
            for place, part in enumerate(self.parts)
        ]
        take_turns(groups, change, bench.repeats, bench.budget)
        for part, group in zip(self.parts, groups, strict=True):
            yield measured("append", shop, part, changed, self.spread, group)


def _changed_rows(shop: Shop, folder: str) -> None:
    """Write the newest states of the rows of the last commit."""
    orders = shop.tables["orders"]
    location = shop.ps.spark.sql(f"DESCRIBE DETAIL {orders}").select("location").first()
    assert location is not None
    last = DeltaTable(str(location[0]).removeprefix("file:")).version()
    feed = f"SELECT * FROM table_changes('{orders}', {last}, {last}) WHERE _change_type = 'update_postimage'"
    columns = shop.ps.spark.table(orders).columns
    shop.ps.spark.sql(feed).select(*columns).coalesce(1).write.format("delta").mode("overwrite").save(folder)
