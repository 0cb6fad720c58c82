"""One run: workloads one after the other, until all are done or the time is up."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

import penstock
from benchmarks.bench import Bench
from benchmarks.budget import Budget
from benchmarks.findings import Findings
from benchmarks.machine import describe
from benchmarks.memory import driver_memory
from benchmarks.progress import Progress
from benchmarks.results import Run
from benchmarks.scale import SCALE
from benchmarks.workloads import Workload


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
            _close_shops(bench, later, found, progress)
        return Run(at, SCALE, budget.elapsed, describe(ps), found.cells, found.skipped, found.failed, driver_memory(ps))


def _close_shops(bench: Bench, keep: Collection[int], found: Findings, progress: Progress) -> None:
    try:
        bench.close_shops(keep, found.audit)
    # An audit that fails is no reason to lose what was measured.
    except Exception as error:
        found.fail("audit", error)
        progress.say(f"FAILED: {found.failed[-1]}")


def _measure(bench: Bench, workload: Workload, found: Findings, progress: Progress) -> None:
    began = time.perf_counter()
    try:
        for measured in workload.run(bench):
            found.add(measured)
            progress.tell(measured.cell)
    # Whatever it was: the other workloads get their turn, and the report and the exit code say it.
    except Exception as error:
        found.fail(workload.title, error)
        progress.say(f"FAILED: {found.failed[-1]}")
    progress.say(f"done in {time.perf_counter() - began:.0f} s")
