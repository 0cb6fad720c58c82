"""One run: workloads one after the other, until all are done or the time is up."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import penstock
from benchmarks.bench import Bench
from benchmarks.budget import Budget
from benchmarks.cell import Cell
from benchmarks.machine import describe
from benchmarks.memory import driver_memory
from benchmarks.progress import Progress
from benchmarks.results import Run
from benchmarks.scale import SCALE
from benchmarks.shop import Shop
from benchmarks.workloads import Measured, Workload


def run(workloads: Sequence[Workload], repeats: int, budget: Budget, progress: Progress) -> Run:
    """Measure. An error of one workload is kept, and the others get their turn."""
    at = datetime.now(UTC)
    found = Findings()
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as folder,
        penstock.open(Path(folder, "warehouse"), settings={"log_level": "warning"}) as ps,
    ):
        bench = Bench(ps, Path(folder), budget, repeats, progress.say)
        for place, workload in enumerate(workloads):
            progress.begin(workload.title, place, len(workloads))
            if budget.allows(workload.minutes * min(SCALE, 1)):
                _measure(bench, workload, found, progress)
            else:
                found.skipped += workload.labels
                progress.say("left out: not enough time is left")
            later = {size for each in workloads[place + 1 :] for size in each.sizes}
            bench.close_shops(later, found.audit)
        return Run(at, SCALE, budget.elapsed, describe(ps), found.cells, found.skipped, found.failed, driver_memory(ps))


@dataclass
class Findings:
    """What was found out so far."""

    cells: list[Cell] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _pending: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Stream tables of cells, by the cell's place, that are audited when their shop closes."""

    def add(self, measured: Measured) -> None:
        """Take in a cell."""
        if measured.pending:
            self._pending[len(self.cells)] = measured.pending
        self.cells.append(measured.cell)

    def audit(self, shop: Shop) -> None:
        """Audit the stream tables of a shop that some cell waits for; a wrong one makes all its cells wrong."""
        waited_for = {table for tables in self._pending.values() for table in tables}
        verdicts = shop.audit(waited_for)
        for place, tables in list(self._pending.items()):
            if verdicts.keys() >= set(tables):
                right = all(verdicts[table] for table in tables)
                cell = self.cells[place]
                self.cells[place] = dataclasses.replace(cell, exact=bool(cell.exact) and right)
                del self._pending[place]


def _measure(bench: Bench, workload: Workload, found: Findings, progress: Progress) -> None:
    began = time.perf_counter()
    try:
        for measured in workload.run(bench):
            found.add(measured)
            progress.tell(measured.cell)
    # Whatever it was: the other workloads get their turn, and the report and the exit code say it.
    except Exception as error:
        found.failed.append(f"{workload.title}: {type(error).__name__}: {str(error).strip().splitlines()[0][:300]}")
        progress.say(f"FAILED: {found.failed[-1]}")
    progress.say(f"done in {time.perf_counter() - began:.0f} s")
