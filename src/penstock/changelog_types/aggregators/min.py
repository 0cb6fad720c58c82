"""MIN of 64-bit integers: the smallest value that is left, None of nothing.

All values are tracked, so taking back the extreme needs no scan (`tracked_values.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.changelog_types.aggregators.int64_values import int64_values
from penstock.changelog_types.aggregators.retractable_aggregator import RetractableAggregator
from penstock.changelog_types.aggregators.tracked_values import TrackedValues


class RetractableMinAggregator(RetractableAggregator[int | None, int | None]):
    """Every value with its count."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values = TrackedValues()

    def accumulate(self, value: int | None) -> None:
        if value is not None:
            self._values.add(value, 1)

    def retract(self, value: int | None) -> None:
        if value is not None:
            self._values.add(value, -1)

    def accumulate_many(self, values: Any) -> None:
        self._add(values, 1)

    def retract_many(self, values: Any) -> None:
        self._add(values, -1)

    def merge(self, other: RetractableMinAggregator) -> None:
        self._values.add_all(other._values)

    def finalize(self) -> int | None:
        return self._values.smallest()

    def reset(self) -> None:
        self._values = TrackedValues()

    def supports_efficient_retraction(self) -> bool:
        return True

    def _add(self, values: Any, sign: int) -> None:
        distinct, counts = np.unique(int64_values(values), return_counts=True)
        for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            self._values.add(value, sign * count)
