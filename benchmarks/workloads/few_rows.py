"""A hundred changed rows in a table of a million: mostly fixed costs, which is where other attempts lose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.cell import MERGE, RECOMPUTE, REFRESH
from benchmarks.shop import CLUSTERED
from benchmarks.turns import take_turns
from benchmarks.workloads.lineup import lineup, measured
from benchmarks.workloads.workload import Measured, Workload

ROWS = 1_000_000
CHANGED = 100
WARM_UP = 4
"""Turns until the JVM has compiled what it runs; these are fixed costs, and most of them shrink by half."""


@dataclass(frozen=True)
class FewRows(Workload):
    """A tiny change, with both peers."""

    parts: tuple[str, ...] = ("aggregate", "join + aggregate")
    spread: str = CLUSTERED

    @property
    def title(self) -> str:
        """What it is."""
        return f"few rows 1M, 100 {self.spread}"

    @property
    def minutes(self) -> float:
        """The shop included."""
        return 2.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """One."""
        return (ROWS,)

    def run(self, bench: Bench) -> Iterator[Measured]:
        """All parts follow the same changes."""
        shop = bench.shop(ROWS)
        changed = min(CHANGED, shop.rows // 10)
        groups = [lineup(bench, shop, part, (REFRESH, RECOMPUTE, MERGE)) for part in self.parts]
        take_turns(groups, lambda: shop.change(changed, self.spread), bench.repeats, bench.budget, WARM_UP)
        for part, group in zip(self.parts, groups, strict=True):
            yield measured("few rows", shop, part, changed, self.spread, group)
