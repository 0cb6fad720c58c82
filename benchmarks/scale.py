"""How large things are: BENCH_SCALE=0.01 makes every table a hundred times smaller, for a run that only looks whether
everything works. Results of such a run say so, and their times mean nothing."""

from __future__ import annotations

import os

SCALE = float(os.environ.get("BENCH_SCALE", "1"))
LEAST_ROWS = 1_000
LEAST_FACTOR = 0.01


def scaled(rows: int, scale: float = SCALE) -> int:
    """The rows that a table of nominally `rows` really has.

    >>> scaled(1_000_000, 0.01), scaled(10_000, 0.01)
    (10000, 1000)
    """
    return max(min(rows, LEAST_ROWS), round(rows * scale))


def scale_factor(factor: float, scale: float = SCALE) -> float:
    """The TPC-H scale factor that a nominal one really is."""
    return max(LEAST_FACTOR, factor * scale)


def size_label(rows: int) -> str:
    """A nominal size, as people write it.

    >>> [size_label(rows) for rows in (500, 10_000, 10_000_000)]
    ['500', '10K', '10M']
    """
    for unit, letter in ((1_000_000, "M"), (1_000, "K")):
        if rows >= unit and rows % unit == 0:
            return f"{rows // unit}{letter}"
    return str(rows)
