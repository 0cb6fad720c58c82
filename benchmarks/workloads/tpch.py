"""TPC-H: orders and their lines come and go, 0.1% of them per tick, and the queries follow as one tick.

The stream tables are in mode AUTO, as they are unless one says otherwise. Per turn there are two ticks of changes.
After the first, they are refreshed one by one, for the figures of each query; after the second, all together by
`ps.tick`, for the figure of the whole. Then every query is recomputed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import penstock
from benchmarks.bench import Bench
from benchmarks.cell import RECOMPUTE, REFRESH, Cell
from benchmarks.contenders.recompute import Recompute
from benchmarks.contenders.refresh import Refresh
from benchmarks.scale import scale_factor
from benchmarks.shop import CLUSTERED
from benchmarks.tpch.generate import generate
from benchmarks.tpch.history import TICK, History
from benchmarks.tpch.load import TABLES, count_rows, load
from benchmarks.tpch.measure import difference
from benchmarks.tpch.queries import Query, queries
from benchmarks.workloads.workload import Measured, Workload

ALL = "all"
TWENTY_TWO = tuple(f"q{number:02}" for number in range(1, 23))
SIX = ("q01", "q03", "q05", "q10", "q12", "q18")
REPEATS, LEAST_REPEATS = 3, 2
"""Counted turns; a turn takes minutes."""
LAG_SECONDS = 3
"""A grid of 1.5 seconds: after a pause of two, everything is due."""
PAUSE = 2.0


@dataclass(frozen=True)
class TpcH(Workload):
    """The queries at one scale factor."""

    parts: tuple[str, ...] = TWENTY_TWO
    factor: int = 1

    @property
    def title(self) -> str:
        """What it is."""
        return f"TPC-H SF {self.factor}, 0.1%"

    @property
    def minutes(self) -> float:
        """Two counted turns and everything before them."""
        return 8.0 if self.factor == 1 else 30.0

    def run(self, bench: Bench) -> Iterator[Measured]:
        """In a warehouse of its own: a tick takes in every stream table that there is."""
        factor, folder = scale_factor(self.factor), bench.folder / f"tpch-{self.factor}"
        data = folder / "generated"
        data.mkdir(parents=True)
        settings = {"min_target_lag_seconds": 1, "log_level": "warning"}
        with penstock.open(folder / "warehouse", spark=bench.ps.spark, settings=settings) as ps:
            load(ps, generate(factor, data))
            rows = count_rows(ps)
            bench.say(f"scale factor {factor:g} loaded, {rows['lineitem']:,} lines")
            chosen = [query for query in queries(factor) if query.name in self.parts]
            for query in chosen:
                ps.create_stream_table(query.name, query.text, f"{LAG_SECONDS} seconds", "AUTO")
            bench.say(f"{len(chosen)} stream tables filled")
            yield from _turns(ps, bench, chosen, History(ps, data, rows), f"SF {self.factor}", rows["lineitem"])
            for query in chosen:
                ps.drop_stream_table(query.name)
            for table in TABLES:
                ps.sql(f"DROP TABLE {table.name}")


def _turns(
    ps: penstock.StreamTables, bench: Bench, chosen: list[Query], history: History, size: str, lines: int
) -> Iterator[Measured]:
    refreshes = {query.name: Refresh(REFRESH, ps, query.name) for query in chosen}
    recomputes = {
        query.name: Recompute(RECOMPUTE, ps, query.text, str(bench.folder / f"{size}-{query.name}")) for query in chosen
    }
    whole: dict[str, list[float]] = {REFRESH: [], RECOMPUTE: []}
    refreshed = len(chosen)
    for turn in range(1 + min(bench.repeats, REPEATS)):
        if turn > LEAST_REPEATS and bench.budget.left <= 0:
            break
        history.tick_orders()
        for refresh in refreshes.values():
            _timed(refresh, counted=turn > 0)
        history.tick_orders()
        time.sleep(PAUSE)
        began = time.perf_counter()
        refreshed = min(refreshed, len(ps.tick()))
        ticked = time.perf_counter() - began
        again = sum(_timed(recompute, counted=turn > 0) for recompute in recomputes.values())
        bench.say(f"turn {turn}: tick {ticked:.1f} s, recompute {again:.1f} s")
        if turn:
            whole[REFRESH].append(ticked)
            whole[RECOMPUTE].append(again)
    exact = True
    for query in chosen:
        ours, theirs = refreshes[query.name], recomputes[query.name]
        same = difference(ps, query, theirs.target) is None
        exact &= same
        times = {REFRESH: ours.samples, RECOMPUTE: theirs.samples}
        facts: dict[str, int | float | str] = {"actions of refresh": ours.actions}
        yield Measured(
            Cell("TPC-H", query.name, size, lines, round(lines * TICK), CLUSTERED, times, same, ours.stages, facts)
        )
    facts = {"refreshed": refreshed}
    yield Measured(Cell("TPC-H", ALL, size, lines, round(lines * TICK), CLUSTERED, whole, exact, facts=facts))


def _timed(contender: Refresh | Recompute, counted: bool) -> float:
    began = time.perf_counter()
    contender.run()
    seconds = time.perf_counter() - began
    if counted:
        contender.count(seconds)
    return seconds
