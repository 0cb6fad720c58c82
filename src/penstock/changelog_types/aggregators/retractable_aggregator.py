"""What every retractable aggregate obeys.

    retract is the inverse of accumulate: any order of both gives the aggregate of what is left
    merge(a, b) is the aggregate of both inputs together

State is exact at any size; only a result has 64 bits, and one that does not fit is refused (InvalidChange) instead of
wrapped around. So a sum may leave the range and come back. NULL (None) is skipped, except by COUNT, which counts rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Self, TypeVar

from penstock.errors import InvalidChange

Input = TypeVar("Input", contravariant=True)
Output = TypeVar("Output", covariant=True)


class RetractableAggregator(ABC, Generic[Input, Output]):
    """An aggregate over 64-bit integers; batches are NumPy arrays, Arrow arrays or sequences."""

    __slots__ = ()

    @abstractmethod
    def accumulate(self, value: Input) -> None:
        """Take a value in."""

    @abstractmethod
    def retract(self, value: Input) -> None:
        """Take a value back."""

    @abstractmethod
    def accumulate_many(self, values: Any) -> None:
        """Take a batch in."""

    @abstractmethod
    def retract_many(self, values: Any) -> None:
        """Take a batch back."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add the state of another aggregate of the same kind."""

    @abstractmethod
    def finalize(self) -> Output:
        """The result now."""

    @abstractmethod
    def reset(self) -> None:
        """Back to the state of a new one."""

    @abstractmethod
    def supports_efficient_retraction(self) -> bool:
        """True if `retract` never scans all values."""


def fitting(result: int) -> int:
    """The result, if 64 bits hold it."""
    if not -(2**63) <= result < 2**63:
        raise InvalidChange(
            what=f"the aggregate {result}",
            why="a result has 64 bits",
            fix="Retract what does not belong there, or sum DECIMAL values in SQL.",
        )
    return result
