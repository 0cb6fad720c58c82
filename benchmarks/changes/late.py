"""Late data: the check of a result, and the check of rows against a watermark."""

from __future__ import annotations

import numpy as np

from benchmarks.changes.cell import Cell, per_row
from penstock.changelog_types.late_data import LateDataRetractionGenerator, WindowId
from penstock.changelog_types.late_rows import late_rows

ROWS = 4096
_ENDS = np.random.default_rng(1).integers(0, 100_000, ROWS)
_LIST = _ENDS.tolist()
_WINDOWS = [WindowId(at * 60_000, (at + 1) * 60_000) for at in range(ROWS)]
_TUPLES = [(window.start, window.end) for window in _WINDOWS]
_GENERATOR = LateDataRetractionGenerator(enabled=True)
_RESULTS: dict[tuple[int, int], bytes] = {}


def _check() -> None:
    check = _GENERATOR.check_retraction
    for window in _WINDOWS:
        check(window, b"count=5", 1)


def _look_up() -> None:
    for window in _TUPLES:
        if _RESULTS.setdefault(window, b"count=5") != b"count=5":
            raise AssertionError(window)


CELLS = [
    Cell("retraction check, a call", 150e-9, lambda: per_row(_check, ROWS, 20), lambda: per_row(_look_up, ROWS, 20)),
    Cell(
        "late rows found",
        10e-9,
        lambda: per_row(lambda: late_rows(_ENDS, 50_000, 1_000), ROWS, 1000),
        lambda: per_row(lambda: [end + 1_000 <= 50_000 for end in _LIST], ROWS, 20),
    ),
]
