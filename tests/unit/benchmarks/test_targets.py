"""Asked figures against made-up cells."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cell import Cell
from benchmarks.shapes import FIVE
from benchmarks.targets import losses, verdicts


def _cell(workload: str, part: str, size: str = "1M", changed: int = 100, spread: str = "", **times: float) -> Cell:
    rows = {"100K": 100_000, "1M": 1_000_000, "10M": 10_000_000}.get(size, 1_000_000)
    return Cell(workload, part, size, rows, changed, spread, {name: [each] for name, each in times.items()})


def _reached(cells: Sequence[Cell], words: str) -> list[bool | None]:
    return [verdict.reached for verdict in verdicts(cells) if words in f"{verdict.figure}, {verdict.asked}"]


def test_nothing_measured_leaves_everything_open() -> None:
    assert {verdict.reached for verdict in verdicts([])} == {None}
    assert {verdict.measured for verdict in verdicts([])} == {"not measured"}


def test_medians_are_compared_not_means() -> None:
    cell = Cell("few rows", "aggregate", "1M", 1, 1, "clustered", {"refresh": [1, 1, 50], "recompute": [6, 7, 8]})
    assert _reached([cell], "aggregate, at least 6× against recompute") == [True]


def test_the_worst_shape_decides_and_the_third_best_for_three_shapes() -> None:
    ratios = dict(zip(FIVE, (30, 25, 21, 12, 9), strict=True))
    cells = [
        _cell("large", part, "10M", 10_000, "clustered", refresh=1, recompute=ratio) for part, ratio in ratios.items()
    ]
    assert _reached(cells, "all five shapes, at least 10×") == [False]
    assert _reached(cells, "three shapes") == [True]
    assert _reached(cells, "1% scattered: all five") == [None]


def test_another_share_is_another_figure() -> None:
    cells = [_cell("large", "scan", "10M", 1_000, "clustered", refresh=1, recompute=100)]
    assert _reached(cells, "0.1% clustered: all five") == [None]


def test_a_slope_compares_the_ends() -> None:
    cells = [_cell("slope", "scan", size, 1_000, refresh=time) for size, time in (("100K", 0.5), ("10M", 1.1))]
    assert _reached(cells, "100K to 10M: scan") == [False]
    assert _reached(cells, "100K to 10M: filter") == [None]


def test_no_change_means_no_spark_job_and_every_table() -> None:
    def tick(jobs: int, refreshed: int) -> Cell:
        facts: dict[str, int | float | str] = {"spark_jobs": jobs, "refreshed": refreshed}
        return Cell("no change", "tick of 100", "1K", 1, 0, "", {"refresh": [0.2]}, facts=facts)

    assert _reached([tick(0, 100)], "tick of 100") == [True]
    assert _reached([tick(1, 100)], "tick of 100") == [False]
    assert _reached([tick(0, 99)], "tick of 100") == [False]


def test_auto_must_be_close_to_the_better_mode_in_every_cell() -> None:
    good = _cell("matrix", "scan", refresh=0.2, full=1.0, auto=0.3)
    bad = _cell("matrix", "join", refresh=3.0, full=1.0, auto=2.0)
    assert _reached([good], "AUTO") == [True]
    assert _reached([good, bad], "AUTO") == [False]
    assert any("worst 2.00× (join" in verdict.measured for verdict in verdicts([good, bad]))


def test_tpch_counts_only_a_tick_of_all_queries() -> None:
    def whole(refreshed: int) -> Cell:
        times = {"refresh": [10.0], "recompute": [40.0]}
        return Cell("TPC-H", "all", "SF 1", 1, 1, "clustered", times, facts={"refreshed": refreshed})

    slow = _cell("TPC-H", "q17", "SF 1", refresh=2.0, recompute=1.0)
    assert _reached([whole(22)], "SF 1: tick") == [True]
    assert _reached([whole(3)], "SF 1: tick") == [None]
    assert _reached([whole(22), slow], "SF 1: no query") == [False]


def test_a_refresh_against_appending_is_the_other_way_round() -> None:
    assert _reached([_cell("append", "scan", spread="clustered", refresh=0.9, append=0.5)], "1% clustered: scan") == [
        True
    ]


def test_losses_are_named() -> None:
    cells = [
        _cell("matrix", "join", refresh=2.0, recompute=1.0, merge=3.0),
        _cell("matrix", "scan", refresh=1.0, recompute=2.0),
        _cell("matrix", "filter", spread="scattered", refresh=1.0, full=3.0, auto=2.0),
    ]
    assert losses(cells) == [
        "matrix, join, 1M, 0.01%: 2.00 s against 1.00 s for recomputing",
        "matrix, filter, 1M, 0.01% scattered: AUTO took 2.00 s, the better mode 1.00 s",
    ]
