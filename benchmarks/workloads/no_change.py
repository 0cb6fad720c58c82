"""Nothing changed: what a refresh costs then, and a tick over a hundred stream tables. No Spark job may run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import penstock
from benchmarks.bench import Bench
from benchmarks.cell import REFRESH, Cell
from benchmarks.scale import SCALE
from benchmarks.workloads.workload import Measured, Workload

ONE, TICK = "one refresh", "tick of 100"
TABLES = 100 if SCALE >= 1 else 10
SOURCES = 4
ROWS = 1_000
LAG_SECONDS = 3
"""A grid of 1.5 seconds: after a pause of two, everything is due again."""
PAUSE = 2.0


@dataclass(frozen=True)
class NoChange(Workload):
    """Refreshes that find nothing to do."""

    parts: tuple[str, ...] = (ONE, TICK)

    @property
    def title(self) -> str:
        """What it is."""
        return "no change"

    @property
    def minutes(self) -> float:
        """Mostly the making of the stream tables."""
        return 2.5

    def run(self, bench: Bench) -> Iterator[Measured]:
        """In a warehouse of its own: a tick takes in every stream table that there is."""
        folder = bench.folder / "no-change"
        settings = {"min_target_lag_seconds": 1, "log_level": "warning"}
        with penstock.open(folder, spark=bench.ps.spark, settings=settings) as ps:
            ps.sql("CREATE SCHEMA quiet")
            for source in range(SOURCES):
                ps.sql(f"CREATE TABLE quiet.source_{source} AS SELECT id, id * 2 AS amount FROM range({ROWS})")
            for number in range(TABLES if TICK in self.parts else 1):
                query = f"SELECT id, amount FROM quiet.source_{number % SOURCES} WHERE id % {TABLES} = {number}"
                ps.create_stream_table(f"quiet.stream_{number}", query, f"{LAG_SECONDS} seconds", "INCREMENTAL")
            bench.say("stream tables made")
            if ONE in self.parts:
                yield _one(ps, bench.repeats)
            if TICK in self.parts:
                yield _tick(ps, bench.repeats)
            for number in range(TABLES if TICK in self.parts else 1):
                ps.drop_stream_table(f"quiet.stream_{number}")
            for source in range(SOURCES):
                ps.sql(f"DROP TABLE quiet.source_{source}")


def _one(ps: penstock.StreamTables, repeats: int) -> Measured:
    times, actions, jobs = [], set(), _jobs_so_far(ps)
    for turn in range(1 + 4 * repeats):
        began = time.perf_counter()
        result = ps.refresh("quiet.stream_0")
        if turn:
            times.append(time.perf_counter() - began)
        actions.add(result.action.value)
    return _cell(ONE, times, actions, _jobs_so_far(ps) - jobs, 1)


def _tick(ps: penstock.StreamTables, repeats: int) -> Measured:
    times, actions, jobs, refreshed = [], set(), _jobs_so_far(ps), TABLES
    for turn in range(1 + repeats):
        time.sleep(PAUSE)
        began = time.perf_counter()
        results = ps.tick()
        if turn:
            times.append(time.perf_counter() - began)
        actions |= {result.action.value for result in results}
        refreshed = min(refreshed, len(results))
    return _cell(TICK, times, actions, _jobs_so_far(ps) - jobs, refreshed)


def _cell(part: str, times: list[float], actions: set[str], jobs: int, refreshed: int) -> Measured:
    facts: dict[str, int | float | str] = {
        "actions of refresh": ", ".join(sorted(actions)),
        "spark_jobs": jobs,
        "refreshed": refreshed,
    }
    return Measured(Cell("no change", part, "1K", ROWS, 0, "", {REFRESH: times}, facts=facts))


def _jobs_so_far(ps: penstock.StreamTables) -> int:
    """The number that Spark would give to the next job; it counts every job of the session."""
    return int(ps.spark.sparkContext._jsc.sc().dagScheduler().nextJobId())
