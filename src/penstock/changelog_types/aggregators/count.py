"""COUNT(*): rows in minus rows taken back; below zero if more were taken back."""

from __future__ import annotations

from typing import Any

from penstock.changelog_types.aggregators.retractable_aggregator import RetractableAggregator, fitting


class RetractableCountAggregator(RetractableAggregator[object, int]):
    """A signed count."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def accumulate(self, value: object = None) -> None:
        self._count += 1

    def retract(self, value: object = None) -> None:
        self._count -= 1

    def accumulate_many(self, values: Any) -> None:
        self._count += len(values)

    def retract_many(self, values: Any) -> None:
        self._count -= len(values)

    def merge(self, other: RetractableCountAggregator) -> None:
        self._count += other._count

    def finalize(self) -> int:
        return fitting(self._count)

    def reset(self) -> None:
        self._count = 0

    def supports_efficient_retraction(self) -> bool:
        return True
