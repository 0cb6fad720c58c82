"""The cells of `make bench-changes`: each runs, and no two have one name. Nothing is asserted about time."""

from __future__ import annotations

import pytest
from benchmarks.changes.__main__ import cells
from benchmarks.changes.cell import Cell, per_row

CELLS = list(cells())


def test_every_cell_has_a_name_of_its_own() -> None:
    assert len({cell.name for cell in CELLS}) == len(CELLS) >= 20


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_every_cell_runs(cell: Cell) -> None:
    assert cell.run() > 0
    assert cell.plain() > 0
    assert cell.target > 0


def test_time_is_shared_out_over_rows() -> None:
    calls = []
    assert per_row(lambda: calls.append(1), rows=10, calls=7) > 0
    assert len(calls) == 7
