"""A thousand changed rows while the table grows: cost should follow the change, not the table.

All sizes take their turns together, so that a ratio of two sizes is not a ratio of two moments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.cell import REFRESH
from benchmarks.shop import CLUSTERED
from benchmarks.turns import take_turns
from benchmarks.workloads.lineup import lineup, measured
from benchmarks.workloads.workload import Measured, Workload

SIZES = (100_000, 1_000_000, 10_000_000)
CHANGED = 1_000


@dataclass(frozen=True)
class Slope(Workload):
    """The newest thousand orders change at every size."""

    parts: tuple[str, ...] = ("scan", "filter", "aggregate", "clustered join", "join")

    @property
    def title(self) -> str:
        """What it is."""
        return "slope 100K to 10M, 1000 clustered"

    @property
    def minutes(self) -> float:
        """Three shops and their stream tables included."""
        return 4.5

    @property
    def sizes(self) -> tuple[int, ...]:
        """All."""
        return SIZES

    def run(self, bench: Bench) -> Iterator[Measured]:
        """One group per shape, with the sizes in it."""
        shops = [bench.shop(size) for size in SIZES]
        changed = {shop.nominal: min(CHANGED, shop.rows // 10) for shop in shops}
        groups = [[lineup(bench, shop, part, (REFRESH,))[0] for shop in shops] for part in self.parts]

        def change() -> None:
            for shop in shops:
                shop.change(changed[shop.nominal], CLUSTERED)

        take_turns(groups, change, bench.repeats, bench.budget)
        for part, group in zip(self.parts, groups, strict=True):
            for shop, refresh in zip(shops, group, strict=True):
                yield measured("slope", shop, part, changed[shop.nominal], CLUSTERED, [refresh])
