"""SUM of 64-bit integers: what was added minus what was taken back; 0 of nothing."""

from __future__ import annotations

from typing import Any

from penstock.changelog_types.aggregators.int64_values import exact_sum, int64_values
from penstock.changelog_types.aggregators.retractable_aggregator import RetractableAggregator, fitting


class RetractableSumAggregator(RetractableAggregator[int | None, int]):
    """A sum, exact at any size."""

    __slots__ = ("_sum",)

    def __init__(self) -> None:
        self._sum = 0

    def accumulate(self, value: int | None) -> None:
        if value is not None:
            self._sum += value

    def retract(self, value: int | None) -> None:
        if value is not None:
            self._sum -= value

    def accumulate_many(self, values: Any) -> None:
        self._sum += exact_sum(int64_values(values))

    def retract_many(self, values: Any) -> None:
        self._sum -= exact_sum(int64_values(values))

    def merge(self, other: RetractableSumAggregator) -> None:
        self._sum += other._sum

    def finalize(self) -> int:
        return fitting(self._sum)

    def reset(self) -> None:
        self._sum = 0

    def supports_efficient_retraction(self) -> bool:
        return True
