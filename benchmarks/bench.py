"""The bench that workloads run on: one Spark session, one warehouse, the shops by size, and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import penstock
from benchmarks.budget import Budget
from benchmarks.shop import Shop


@dataclass
class Bench:
    """What every workload is given."""

    ps: penstock.StreamTables
    folder: Path
    """For whatever a workload writes outside the warehouse."""
    budget: Budget
    repeats: int
    """Counted turns of a workload that is not very long."""
    say: Callable[[str], None]
    _shops: dict[int, Shop] = field(default_factory=dict)

    def shop(self, nominal: int) -> Shop:
        """The shop of a size, filled when it is first asked for."""
        if nominal not in self._shops:
            shop = Shop(self.ps, nominal)
            began = time.perf_counter()
            shop.fill()
            self.say(f"{shop.rows:,} orders made in {time.perf_counter() - began:.1f} s")
            self._shops[nominal] = shop
        return self._shops[nominal]

    def close_shops(self, keep: Collection[int], audit: Callable[[Shop], None]) -> None:
        """Drop the shops that nobody needs any more, each audited first."""
        for nominal in [each for each in self._shops if each not in keep]:
            shop = self._shops.pop(nominal)
            audit(shop)
            shop.close()
