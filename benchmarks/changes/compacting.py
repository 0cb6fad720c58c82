"""Changelogs made smaller: netted by row, and collapsed by key."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from benchmarks.changes.cell import Cell, per_row
from penstock.changelog_types.compaction import collapse, net
from penstock.names import WEIGHT

ROWS = 16384
_KEYS = np.arange(ROWS) // 2
_CHANGES = pa.table({"id": _KEYS, "amount": np.arange(ROWS) % 5, WEIGHT: np.where(np.arange(ROWS) % 2, 1, -1)})
_TUPLES = list(zip(*(column.to_pylist() for column in _CHANGES.columns), strict=True))


def _counted() -> dict[tuple[int, int], int]:
    sums: Counter[tuple[int, int]] = Counter()
    for key, amount, weight in _TUPLES:
        sums[key, amount] += weight
    return {row: weight for row, weight in sums.items() if weight}


CELLS = [
    Cell(
        "changes netted by row",
        200e-9,
        lambda: per_row(lambda: net(_CHANGES), ROWS, 5),
        lambda: per_row(_counted, ROWS, 3),
    ),
    Cell(
        "changes collapsed by key",
        400e-9,
        lambda: per_row(lambda: collapse(_CHANGES, ["id"]), ROWS, 5),
        lambda: per_row(_counted, ROWS, 3),
    ),
]
