"""`make bench-against BASE=<commit>`: this checkout and another commit, turn by turn in one run.

Both sides run in this environment, each in a process of its own with its own tables; only one works at a time, and who
begins alternates. The table shows medians, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).parents[2]
WARM_UP = 3


class Process:
    """One side, at the other end of a pipe."""

    def __init__(self, name: str, source: Path, folder: Path, rows: int) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("side.py")), str(folder), str(rows)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source), "PENSTOCK_JARS": str(ROOT / ".jars")},
        )

    def hear(self) -> Any:
        """Its next answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended; what it said stands above")
        return json.loads(line)

    def ask(self, what: str) -> Any:
        """Its answer to a question."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self.hear()

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


def main() -> int:
    """Compare; 0 if the rows of both sides are right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description="This checkout against a commit.")
    parser.add_argument("base", help="the other commit")
    parser.add_argument("--turns", type=int, default=15, help="counted turns per case (%(default)s)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the large table (%(default)s)")
    asked = parser.parse_args()
    out = Console(width=None if sys.stdout.isatty() else 140)
    with ExitStack() as until, _commit(asked.base) as base:
        folder = Path(until.enter_context(tempfile.TemporaryDirectory(prefix="penstock-against-")))
        out.print(f"filling {asked.rows:,} rows and starting Spark, twice…")
        sides = []
        for name, source in ((f"base {asked.base}", base / "src"), ("this checkout", ROOT / "src")):
            side = Process(name, source, folder / name.split()[0], asked.rows)
            until.callback(side.close)
            cases = side.hear()["cases"]
            sides.append(side)
        seconds: dict[tuple[str, str], list[float]] = {}
        for turn in track(range(WARM_UP + asked.turns), "turns", console=out, disable=not out.is_terminal):
            for case in cases:
                for side in sides if turn % 2 else reversed(sides):
                    took = side.ask(case)
                    if turn >= WARM_UP:
                        seconds.setdefault((case, side.name), []).append(took)
        right = [side.ask("exact") for side in sides]
    out.print(_table(cases, [side.name for side in sides], seconds))
    return 0 if all(right) else 1


def _table(cases: list[str], names: list[str], seconds: dict[tuple[str, str], list[float]]) -> Table:
    table = Table("case", *names, "this / base", "fastest", title="seconds, median of the turns")
    for case in cases:
        base, this = (seconds[case, name] for name in names)
        middle = [statistics.median(each) for each in (base, this)]
        table.add_row(
            case,
            *(f"{each:.3f}" for each in middle),
            f"{middle[1] / middle[0]:.2f}",
            f"{min(this):.3f} / {min(base):.3f}",
        )
    return table


@contextmanager
def _commit(base: str) -> Iterator[Path]:
    """A checkout of the other commit beside this one."""
    with tempfile.TemporaryDirectory(prefix="penstock-base-") as folder:
        place = Path(folder, "checkout")
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(place), base], check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(place)], check=True)


if __name__ == "__main__":
    sys.exit(main())
