"""The matrix: 10K, 100K and 1M rows, of which 1%, 10% or 50% change, in five shapes; all three modes over each.

AUTO is given some turns to learn before anything counts. It is compared with the better of the other two modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.cell import AUTO, FULL, MERGE, RECOMPUTE, REFRESH
from benchmarks.scale import size_label
from benchmarks.shapes import FIVE
from benchmarks.shop import SCATTERED
from benchmarks.turns import take_turns
from benchmarks.workloads.lineup import lineup, measured
from benchmarks.workloads.workload import Measured, Workload

SIZES = (10_000, 100_000, 1_000_000)
RATES = (100, 10, 2)
"""One in so many rows changes."""
LEARNING_TURNS = 3

_MINUTES = {10_000: 1.0, 100_000: 2.0, 1_000_000: 6.0}


@dataclass(frozen=True)
class Matrix(Workload):
    """One size and one rate, scattered over all ids."""

    parts: tuple[str, ...] = FIVE
    rows: int = 10_000
    one_in: int = 100
    peers: bool = False
    """With recompute and MERGE, and not only the three modes."""

    @property
    def title(self) -> str:
        """What it is."""
        return f"matrix {size_label(self.rows)}, {100 // self.one_in}%"

    @property
    def minutes(self) -> float:
        """Grows with the size."""
        return _MINUTES[self.rows] * (2 if self.peers else 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """One."""
        return (self.rows,)

    def run(self, bench: Bench) -> Iterator[Measured]:
        """All shapes and modes follow the same changes."""
        shop = bench.shop(self.rows)
        changed = shop.rows // self.one_in
        names = (REFRESH, AUTO, FULL, RECOMPUTE, MERGE) if self.peers else (REFRESH, AUTO, FULL)
        groups = [lineup(bench, shop, part, names) for part in self.parts]
        take_turns(groups, lambda: shop.change(changed, SCATTERED), bench.repeats, bench.budget, LEARNING_TURNS)
        for part, group in zip(self.parts, groups, strict=True):
            yield measured("matrix", shop, part, changed, SCATTERED, group)
