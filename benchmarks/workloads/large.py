"""Ten million rows, a small share of them changed: the newest ones, or some everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.cell import MERGE, RECOMPUTE, REFRESH
from benchmarks.shapes import FIVE
from benchmarks.shop import CLUSTERED
from benchmarks.turns import take_turns
from benchmarks.workloads.lineup import lineup, measured
from benchmarks.workloads.workload import Measured, Workload

ROWS = 10_000_000
LONG_REPEATS = 3
"""A scattered change rewrites the whole source, and its refreshes take seconds each."""
PEERS_EVERY = 2
"""Overwriting ten million rows takes long and varies little: the peers run in every second turn."""


@dataclass(frozen=True)
class Large(Workload):
    """The five shapes follow the same changes."""

    parts: tuple[str, ...] = FIVE
    one_in: int = 1_000
    """The share of rows that changes."""
    spread: str = CLUSTERED
    merge: bool = False

    @property
    def title(self) -> str:
        """What it is."""
        return f"large 10M, {100 / self.one_in:g}% {self.spread}"

    @property
    def minutes(self) -> float:
        """Without the shop, but with the audits in the end."""
        return (4.5 if self.spread == CLUSTERED else 6.0) * (2 if self.merge else 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """One."""
        return (ROWS,)

    def run(self, bench: Bench) -> Iterator[Measured]:
        """Refresh against recompute, and against MERGE if asked for."""
        shop = bench.shop(ROWS)
        changed = shop.rows // self.one_in
        names = (REFRESH, RECOMPUTE, MERGE) if self.merge else (REFRESH, RECOMPUTE)
        repeats = bench.repeats if self.spread == CLUSTERED else min(bench.repeats, LONG_REPEATS)
        groups = [lineup(bench, shop, part, names, PEERS_EVERY) for part in self.parts]
        take_turns(groups, lambda: shop.change(changed, self.spread), repeats, bench.budget)
        for part, group in zip(self.parts, groups, strict=True):
            yield measured("large", shop, part, changed, self.spread, group)
