"""The figures that Penstock is asked to reach, each looked up in the cells: asked, measured, reached or not.

A figure whose cells were not measured stays open. Nothing here decides an exit code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.cell import APPEND, AUTO, FULL, MERGE, RECOMPUTE, REFRESH, Cell
from benchmarks.shop import CLUSTERED, SCATTERED

FACTOR, MARGIN = 1.2, 0.15
"""Close enough: within 20%, or within so many seconds."""

SLOPE_SHAPES = ("scan", "filter", "aggregate", "clustered join")
APPEND_SHAPES = ("scan", "filter", "aggregate")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One asked figure."""

    figure: str
    asked: str
    measured: str
    reached: bool | None
    """None: not measured in this run, or not at full size."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @property
    def word(self) -> str:
        """yes, no, or a dash."""
        return "–" if self.reached is None else "yes" if self.reached else "no"


def close_to(seconds: float, better: float) -> bool:
    """True if a time is within max(1.2×, +0.15 s) of a better one.

    >>> close_to(0.24, 0.10), close_to(2.3, 2.0), close_to(2.5, 2.0)
    (True, True, False)
    """
    return seconds <= max(FACTOR * better, better + MARGIN)


def verdicts(cells: Sequence[Cell]) -> list[Verdict]:
    """All asked figures, in their order."""
    return [verdict for target in TARGETS for verdict in target(cells)]


def _no_change(cells: Sequence[Cell]) -> Iterable[Verdict]:
    for part, limit in (("one refresh", 0.010), ("tick of 100", 0.5)):
        asked = f"under {limit * 1000:.0f} ms, no Spark job"
        for cell in _found(cells, "no change", part=part):
            jobs, done = int(cell.facts["spark_jobs"]), int(cell.facts["refreshed"])
            whole = done == (100 if part == "tick of 100" else 1)
            measured = f"{cell.median(REFRESH) * 1000:.1f} ms, {jobs} Spark jobs" + (
                "" if whole else f", {done} tables"
            )
            reached = cell.median(REFRESH) < limit and jobs == 0 and whole
            yield Verdict(f"no change: {part}", asked, measured, reached)
            break
        else:
            yield _open(f"no change: {part}", asked)


def _few_rows(cells: Sequence[Cell]) -> Iterable[Verdict]:
    for part, least in (("aggregate", 6.0), ("join + aggregate", 4.0)):
        found = _found(cells, "few rows", part=part, spread=CLUSTERED)
        yield _at_least(f"100 rows of 1M: {part}", found, RECOMPUTE, least, "recompute")
        yield _at_least(f"100 rows of 1M: {part}", found, MERGE, 6.0, "MERGE")


def _large(cells: Sequence[Cell]) -> Iterable[Verdict]:
    clustered = [cell for cell in _found(cells, "large", spread=CLUSTERED) if cell.share == "0.1%"]
    yield _at_least("10M rows, 0.1% clustered: all five shapes", clustered, RECOMPUTE, 10.0, "recompute")
    figure, asked = "10M rows, 0.1% clustered: three shapes", "at least 20× against recompute"
    ratios = sorted((cell.ratio(RECOMPUTE) for cell in clustered if cell.has(REFRESH, RECOMPUTE)), reverse=True)
    if len(ratios) >= 3:
        yield Verdict(figure, asked, f"third best {ratios[2]:.1f}×", ratios[2] >= 20)
    else:
        yield _open(figure, asked)
    scattered = [cell for cell in _found(cells, "large", spread=SCATTERED) if cell.share == "1%"]
    yield _at_least("10M rows, 1% scattered: all five shapes", scattered, RECOMPUTE, 3.0, "recompute")


def _slope(cells: Sequence[Cell]) -> Iterable[Verdict]:
    for part in SLOPE_SHAPES:
        figure, asked = f"1,000 rows, 100K to 10M: {part}", "slope below 2"
        times = {cell.size: cell.median(REFRESH) for cell in _found(cells, "slope", part=part)}
        if {"100K", "10M"} <= times.keys():
            slope = times["10M"] / times["100K"]
            yield Verdict(figure, asked, f"{slope:.2f}", slope < 2)
        else:
            yield _open(figure, asked)


def _tpch(cells: Sequence[Cell]) -> Iterable[Verdict]:
    for size, least, count in (("SF 1", 3.0, 22), ("SF 10", 10.0, 6)):
        found = _found(cells, "TPC-H", size=size)
        whole = [cell for cell in found if cell.part == "all" and cell.facts.get("refreshed") == count]
        yield _at_least(f"TPC-H {size}: tick of {count} queries", whole, RECOMPUTE, least, "recompute")
        figure = f"TPC-H {size}: no query much slower than its recompute"
        asked = f"within max({FACTOR}×, +{MARGIN} s)"
        single = [cell for cell in found if cell.part != "all" and cell.has(REFRESH, RECOMPUTE)]
        if single:
            slow = [cell.part for cell in single if not close_to(cell.median(REFRESH), cell.median(RECOMPUTE))]
            measured = f"{len(single) - len(slow)} of {len(single)}" + (f"; slower: {', '.join(slow)}" if slow else "")
            yield Verdict(figure, asked, measured, not slow)
        else:
            yield _open(figure, asked)


def _auto(cells: Sequence[Cell]) -> Iterable[Verdict]:
    figure, asked = "AUTO against the better mode, every cell of the matrix", f"within max({FACTOR}×, +{MARGIN} s)"
    found = [cell for cell in _found(cells, "matrix") if cell.has(AUTO, REFRESH, FULL)]
    if not found:
        yield _open(figure, asked)
        return
    away = [cell for cell in found if not close_to(cell.median(AUTO), better_mode(cell))]
    worst = max(found, key=lambda cell: cell.median(AUTO) / better_mode(cell))
    measured = (
        f"{len(found) - len(away)} of {len(found)} cells; worst {worst.median(AUTO) / better_mode(worst):.2f}× "
        f"({worst.part}, {worst.size}, {worst.share})"
    )
    yield Verdict(figure, asked, measured, not away)


def _append(cells: Sequence[Cell]) -> Iterable[Verdict]:
    for part in APPEND_SHAPES:
        for spread in (CLUSTERED, SCATTERED):
            figure, asked = f"1M rows, 1% {spread}: {part}", "below 2× appending the changed rows"
            for cell in _found(cells, "append", part=part, spread=spread):
                ratio = cell.ratio(REFRESH, APPEND)
                yield Verdict(figure, asked, f"{ratio:.2f}×", ratio < 2)
                break
            else:
                yield _open(figure, asked)


TARGETS: tuple[Callable[[Sequence[Cell]], Iterable[Verdict]], ...] = (
    _no_change,
    _few_rows,
    _large,
    _slope,
    _tpch,
    _auto,
    _append,
)


def better_mode(cell: Cell) -> float:
    """Median seconds of the faster of INCREMENTAL and FULL."""
    return min(cell.median(REFRESH), cell.median(FULL))


def losses(cells: Sequence[Cell]) -> list[str]:
    """Every cell in which a refresh is slower than a peer, or AUTO far from the better mode, said in words."""
    told = []
    for cell in cells:
        where = f"{cell.workload}, {cell.part}, {cell.size}, {cell.share} {cell.spread}".strip()
        for peer, words in ((RECOMPUTE, "recomputing"), (MERGE, "the hand-written MERGE")):
            if cell.has(REFRESH, peer) and cell.ratio(peer) < 1:
                told.append(f"{where}: {cell.median(REFRESH):.2f} s against {cell.median(peer):.2f} s for {words}")
        if cell.has(AUTO, REFRESH, FULL) and not close_to(cell.median(AUTO), better_mode(cell)):
            told.append(f"{where}: AUTO took {cell.median(AUTO):.2f} s, the better mode {better_mode(cell):.2f} s")
    return told


def _found(
    cells: Sequence[Cell], workload: str, part: str | None = None, spread: str | None = None, size: str | None = None
) -> list[Cell]:
    return [
        cell
        for cell in cells
        if cell.workload == workload
        and part in {None, cell.part}
        and spread in {None, cell.spread}
        and size in {None, cell.size}
    ]


def _at_least(figure: str, cells: Sequence[Cell], peer: str, least: float, words: str) -> Verdict:
    """The worst of the cells must be so many times faster than a peer."""
    asked = f"at least {least:g}× against {words}"
    ratios = {cell.part: cell.ratio(peer) for cell in cells if cell.has(REFRESH, peer)}
    if not ratios:
        return _open(figure, asked)
    worst = min(ratios, key=lambda part: ratios[part])
    where = f" ({worst})" if len(ratios) > 1 else ""
    return Verdict(figure, asked, f"{ratios[worst]:.1f}×{where}", ratios[worst] >= least)


def _open(figure: str, asked: str) -> Verdict:
    return Verdict(figure, asked, "not measured", None)
