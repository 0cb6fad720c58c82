"""The cells of `make bench-changes`: each runs, and no two have one name. Nothing is asserted about time."""

from __future__ import annotations

import pytest
from benchmarks.changes.__main__ import cells
from benchmarks.changes.cell import Cell, per_row

CELLS = list(cells())


def test_every_cell_has_a_name_of_its_own() -> None:
    assert len({cell.name for cell in CELLS}) == len(CELLS) >= 20


@pytest.mark.parametrize(
    "cell",
    [
        # Clients by the hundred are a process of their own.
        pytest.param(cell, id=cell.name, marks=[pytest.mark.process] if "SSE" in cell.name else [])
        for cell in CELLS
    ],
)
def test_every_cell_runs(cell: Cell) -> None:
    assert cell.run() > 0
    assert cell.plain() > 0
    assert cell.target > 0


def test_time_is_shared_out_over_rows() -> None:
    calls = []
    assert per_row(lambda: calls.append(1), rows=10, calls=7) > 0
    assert len(calls) == 7
