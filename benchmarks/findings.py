"""What a run has found out so far: cells, some of them waiting for an audit, and what was left out or failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.cell import Cell
from benchmarks.workloads import Measured

LONGEST = 300
"""Characters of an error that are kept."""


class Audited(Protocol):
    """A shop that is about to close."""

    def audit(self, names: Collection[str]) -> Mapping[str, bool]:
        """Which of those stream tables that are over this shop are exact."""


@dataclass
class Findings:
    """Grows while a run goes on."""

    cells: list[Cell] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _pending: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Stream tables of cells, by the cell's place, that are audited when their shop closes."""

    def add(self, measured: Measured) -> None:
        """Take in a cell."""
        if measured.pending:
            self._pending[len(self.cells)] = measured.pending
        self.cells.append(measured.cell)

    def fail(self, what: str, error: Exception) -> None:
        """Keep the first line of an error."""
        first = (str(error).strip().splitlines() or [""])[0]
        self.failed.append(f"{what}: {type(error).__name__}: {first[:LONGEST]}")

    def audit(self, shop: Audited) -> None:
        """Audit the stream tables of a shop that some cell waits for; a wrong one makes all its cells wrong."""
        right = shop.audit({table for tables in self._pending.values() for table in tables})
        for place, tables in list(self._pending.items()):
            if right.keys() >= set(tables):
                cell = self.cells[place]
                exact = cell.exact is not False and all(right[table] for table in tables)
                self.cells[place] = dataclasses.replace(cell, exact=exact)
                del self._pending[place]
