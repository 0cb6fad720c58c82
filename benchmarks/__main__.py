"""`make bench` and `make bench-full`: measure, print, keep.

The exit code is 1 only if rows were wrong or something failed; a time is only reported.
"""

from __future__ import annotations

import argparse
import math
import sys

from rich.console import Console
from rich.table import Table

from benchmarks import report
from benchmarks.budget import Budget
from benchmarks.progress import Progress
from benchmarks.results import Run, keep
from benchmarks.run import run
from benchmarks.workloads import EVERYTHING, PROMISED

MINUTES = 30.0
REPEATS = 5


def main() -> int:
    """Run what is asked for; 0 if all rows were right."""
    asked = _arguments()
    plan = EVERYTHING if asked.full else PROMISED
    chosen = [kept for workload in plan if (kept := workload.only(asked.only)) is not None]
    if asked.list:
        print("\n".join(label for workload in chosen for label in workload.labels))
        return 0
    out = Console(width=None if sys.stdout.isatty() else 160)
    budget = Budget(asked.minutes or (math.inf if asked.full else MINUTES))
    with Progress(out, budget) as progress:
        done = run(chosen, asked.repeats, budget, progress)
    _print(done, out)
    out.print(f"written to {keep(done, report.markdown(done))}", soft_wrap=True)
    return 0 if done.exact else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Refresh against recompute and MERGE.")
    parser.add_argument("--full", action="store_true", help="the whole matrix, not only what the targets are about")
    parser.add_argument("--only", nargs="+", default=[], metavar="SUBSTRING", help="cells whose label has it in it")
    parser.add_argument("--list", action="store_true", help="print the labels of the cells and stop")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="counted turns per cell (%(default)s)")
    parser.add_argument(
        "--minutes", type=float, help=f"begin nothing that would not fit ({MINUTES:g}; with --full no limit)"
    )
    return parser.parse_args()


def _print(done: Run, out: Console) -> None:
    for sheet in [*report.sheets(done.cells), report.figures(done)]:
        table = Table(title=sheet.title, title_justify="left")
        for place, heading in enumerate(sheet.head):
            table.add_column(heading, justify="left" if place < sheet.texts else "right")
        for row in sheet.rows:
            table.add_row(*row)
        out.print(table)
    for words in (f"left out: {label}" for label in done.skipped):
        out.print(words, markup=False)
    for words in (f"failed: {what}" for what in done.failed):
        out.print(words, markup=False)


if __name__ == "__main__":
    sys.exit(main())
