"""A run as it is kept: cells, verdicts and the machine, in `benchmarks/results/`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.cell import Cell
from benchmarks.targets import Verdict, verdicts

FOLDER = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that one run found out."""

    at: datetime
    scale: float
    seconds: float
    machine: Mapping[str, Any]
    cells: Sequence[Cell]
    skipped: Sequence[str] = ()
    """Labels of cells for which there was no time."""
    failed: Sequence[str] = ()
    """What went wrong, if anything did."""
    memory: Mapping[str, int] = field(default_factory=dict)
    """Megabytes."""
    parts: Sequence[Run] = ()
    """The runs that this one was put together from, if it was, oldest first: only those that gave it a cell."""

    @property
    def verdicts(self) -> list[Verdict]:
        """The asked figures; at another scale than 1 none is reached or missed."""
        found = verdicts(self.cells)
        return found if self.scale == 1 else [replace(verdict, reached=None) for verdict in found]

    @property
    def exact(self) -> bool:
        """True if no cell had wrong rows, and nothing failed."""
        return not self.failed and all(cell.exact is not False for cell in self.cells)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "at": self.at.isoformat(),
            "scale": self.scale,
            "seconds": round(self.seconds),
            "machine": dict(self.machine),
            "memory_mb": dict(self.memory),
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "skipped": list(self.skipped),
            "failed": list(self.failed),
            "cells": [cell.to_json() for cell in self.cells],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Run:
        """The inverse of `to_json`; verdicts are made anew."""
        return cls(
            datetime.fromisoformat(data["at"]),
            data["scale"],
            data["seconds"],
            data["machine"],
            [Cell.from_json(cell) for cell in data["cells"]],
            data["skipped"],
            data["failed"],
            data["memory_mb"],
        )


def keep(run: Run, markdown: str, folder: Path = FOLDER) -> Path:
    """Write both files; returns the path of the Markdown one. A run at another scale goes by another name."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = "bench" if run.scale == 1 else "smoke"
    path = folder / f"{kind}-{run.at:%Y%m%d-%H%M%S}.md"
    path.write_text(markdown, encoding="utf-8")
    path.with_suffix(".json").write_text(json.dumps(run.to_json(), indent=1) + "\n", encoding="utf-8")
    return path


def kept(folder: Path = FOLDER) -> Run | None:
    """All kept runs as one: every cell from the newest run that has it, so that each ratio is of one run."""
    runs = [Run.from_json(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("bench-*.json"))]
    return joined(runs) if runs else None


def joined(runs: Sequence[Run]) -> Run:
    """Runs in the order of time as one run."""
    cells: dict[tuple[object, ...], Cell] = {}
    giver: dict[tuple[object, ...], int] = {}
    for number, run in enumerate(runs):
        for cell in run.cells:
            key = cell.workload, cell.part, cell.size, cell.changed, cell.spread
            cells[key], giver[key] = cell, number
    measured = {(f"{cell.workload} {cell.size}, {cell.share}", f": {cell.part}") for cell in cells.values()}
    return replace(
        runs[-1],
        seconds=sum(run.seconds for run in runs),
        cells=list(cells.values()),
        skipped=[
            label
            for run in runs
            for label in run.skipped
            if not any(label.startswith(start) and label.endswith(end) for start, end in measured)
        ],
        failed=[each for run in runs for each in run.failed],
        memory=next((run.memory for run in reversed(runs) if run.memory), {}),
        parts=[runs[number] for number in sorted(set(giver.values()))],
    )
