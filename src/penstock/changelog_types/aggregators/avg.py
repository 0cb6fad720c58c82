"""AVG of 64-bit integers: an exact sum over a count, divided once at the end; None of nothing.

The state holds no average, so nothing drifts: the result is the double nearest to the true quotient.
"""

from __future__ import annotations

from typing import Any

from penstock.changelog_types.aggregators.int64_values import exact_sum, int64_values
from penstock.changelog_types.aggregators.retractable_aggregator import RetractableAggregator


class RetractableAvgAggregator(RetractableAggregator[int | None, float | None]):
    """Sum and count."""

    __slots__ = ("_count", "_sum")

    def __init__(self) -> None:
        self._sum = 0
        self._count = 0

    def accumulate(self, value: int | None) -> None:
        if value is not None:
            self._sum += value
            self._count += 1

    def retract(self, value: int | None) -> None:
        if value is not None:
            self._sum -= value
            self._count -= 1

    def accumulate_many(self, values: Any) -> None:
        known = int64_values(values)
        self._sum += exact_sum(known)
        self._count += len(known)

    def retract_many(self, values: Any) -> None:
        known = int64_values(values)
        self._sum -= exact_sum(known)
        self._count -= len(known)

    def merge(self, other: RetractableAvgAggregator) -> None:
        self._sum += other._sum
        self._count += other._count

    def finalize(self) -> float | None:
        return self._sum / self._count if self._count > 0 else None

    def reset(self) -> None:
        self._sum = 0
        self._count = 0

    def supports_efficient_retraction(self) -> bool:
        return True
