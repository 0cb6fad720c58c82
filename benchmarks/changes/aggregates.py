"""Retractable aggregates."""

from __future__ import annotations

import numpy as np

from benchmarks.changes.cell import Cell, per_row
from penstock.changelog_types.aggregators.avg import RetractableAvgAggregator
from penstock.changelog_types.aggregators.count import RetractableCountAggregator
from penstock.changelog_types.aggregators.max import RetractableMaxAggregator
from penstock.changelog_types.aggregators.min import RetractableMinAggregator
from penstock.changelog_types.aggregators.retractable_aggregator import RetractableAggregator
from penstock.changelog_types.aggregators.sum import RetractableSumAggregator

ROWS = 4096
_VALUES = np.random.default_rng(1).integers(0, 256, ROWS)
_LIST = _VALUES.tolist()


def _both(kind: type[RetractableAggregator[int, object]], calls: int) -> float:
    """Half of the rows are taken back, so half of the calls are retractions."""
    aggregate = kind()

    def work() -> None:
        aggregate.accumulate_many(_VALUES)
        aggregate.retract_many(_VALUES)

    return per_row(work, 2 * ROWS, calls)


def _each(kind: type[RetractableAggregator[int, object]]) -> float:
    aggregate = kind()

    def work() -> None:
        for value in _LIST:
            aggregate.accumulate(value)
        for value in _LIST:
            aggregate.retract(value)

    return per_row(work, 2 * ROWS, 3)


CELLS = [
    Cell(
        "count, in and back",
        5e-9,
        lambda: _both(RetractableCountAggregator, 1000),
        lambda: _each(RetractableCountAggregator),
    ),
    Cell(
        "sum, in and back", 5e-9, lambda: _both(RetractableSumAggregator, 500), lambda: _each(RetractableSumAggregator)
    ),
    Cell(
        "avg, in and back", 5e-9, lambda: _both(RetractableAvgAggregator, 500), lambda: _each(RetractableAvgAggregator)
    ),
    Cell(
        "min, in and back", 100e-9, lambda: _both(RetractableMinAggregator, 20), lambda: _each(RetractableMinAggregator)
    ),
    Cell(
        "max, in and back", 100e-9, lambda: _both(RetractableMaxAggregator, 20), lambda: _each(RetractableMaxAggregator)
    ),
]
