"""One figure: what is measured, what was asked, and the plain way beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """`run` and `plain` measure once and return seconds per row; `target` is in seconds per row."""

    name: str
    target: float
    run: Callable[[], float]
    plain: Callable[[], float]


def per_row(work: Callable[[], object], rows: int, calls: int) -> float:
    """Seconds per row of so many calls of `work`, each of which handles so many rows."""
    began = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - began) / (rows * calls)
