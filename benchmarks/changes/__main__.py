"""`python -m benchmarks.changes`: every `CELLS` of the files beside this one, in a table, and kept in `results/`.

Nothing fails because of a time. The best of several rounds is shown: on a shared machine the rest is others' work.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import benchmarks.changes
from benchmarks.changes.cell import Cell
from benchmarks.machine import cpu_name
from benchmarks.results import FOLDER

ROUNDS = 7


def main() -> None:
    """Measure, print, keep."""
    rows = []
    print(f"{'':<46}{'ns/row':>10}{'plain':>12}{'asked':>12}")
    for cell in cells():
        measured = min(cell.run() for _ in range(ROUNDS)) * 1e9
        plain = min(cell.plain() for _ in range(ROUNDS)) * 1e9
        asked = cell.target * 1e9
        rows.append({"name": cell.name, "ns": round(measured, 2), "plain_ns": round(plain, 2), "asked_ns": asked})
        told = "" if measured < asked else "  missed"
        print(f"{cell.name:<46}{measured:>10.2f}{plain:>12.1f}{f'< {asked:g}':>12}{told}", flush=True)
    print(f"kept as {keep(rows)}")


def cells() -> Iterator[Cell]:
    """The cells of every module of this package, by the name of the module."""
    for found in sorted(pkgutil.iter_modules(benchmarks.changes.__path__), key=lambda each: each.name):
        if not found.name.startswith("__"):
            module = importlib.import_module(f"{benchmarks.changes.__name__}.{found.name}")
            yield from getattr(module, "CELLS", [])


def keep(rows: list[dict[str, Any]]) -> str:
    """Write the figures with the machine they are of; returns the name of the file."""
    at = datetime.now(UTC)
    machine = {
        "cpus": os.cpu_count(),
        "cpu": cpu_name(),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "pyarrow", "msgspec")},
    }
    path = FOLDER / f"changes-{at:%Y%m%d-%H%M%S}.json"
    data = {"at": at.isoformat(), "rounds": ROUNDS, "machine": machine, "cells": rows}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return path.name


if __name__ == "__main__":
    main()
