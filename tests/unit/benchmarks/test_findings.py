"""Cells that wait for the audit of their stream tables."""

from __future__ import annotations

from collections.abc import Collection
from io import StringIO

from benchmarks.budget import Budget
from benchmarks.cell import Cell
from benchmarks.findings import Findings
from benchmarks.progress import Progress
from benchmarks.workloads import Measured
from rich.console import Console


class Closing:
    """A shop whose stream tables are known to be right or wrong."""

    def __init__(self, **right: bool) -> None:
        self.right = right

    def audit(self, names: Collection[str]) -> dict[str, bool]:
        return {name: right for name, right in self.right.items() if name in names}


def _cell(exact: bool | None = None) -> Cell:
    return Cell("large", "scan", "10M", 10, 1, "clustered", {"refresh": [0.05], "recompute": [2.0]}, exact)


def test_a_cell_is_exact_once_its_tables_are_audited() -> None:
    found = Findings()
    found.add(Measured(_cell(), ("one",)))
    found.add(Measured(_cell(), ("other",)))
    found.add(Measured(_cell(True)))
    found.audit(Closing(one=True, unasked=False))
    assert [cell.exact for cell in found.cells] == [True, None, True]
    found.audit(Closing(other=False))
    assert [cell.exact for cell in found.cells] == [True, False, True]


def test_a_wrong_peer_stays_wrong() -> None:
    found = Findings()
    found.add(Measured(_cell(False), ("one",)))
    found.audit(Closing(one=True))
    assert found.cells[0].exact is False


def test_an_error_is_kept_by_its_first_line() -> None:
    found = Findings()
    found.fail("slope", ValueError("it broke\nand a trace"))
    found.fail("matrix", ValueError())
    assert found.failed == ["slope: ValueError: it broke", "matrix: ValueError: "]


def test_a_run_without_a_terminal_says_a_line_per_cell() -> None:
    written = StringIO()
    with Progress(Console(file=written, width=100), Budget(1, clock=lambda: 0.0)) as progress:
        progress.begin("large", 0, 2)
        progress.tell(_cell(True))
    assert written.getvalue() == "large\n    0:00  scan, 10M: refresh 50.0 ms, recompute 2.00 s; exact\n"
