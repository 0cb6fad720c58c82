"""What a run says while it goes on: a line per cell, and on a terminal one more that counts the time."""

from __future__ import annotations

import math
from types import TracebackType

from rich import progress
from rich.console import Console
from rich.text import Text

from benchmarks.budget import Budget
from benchmarks.cell import Cell


class Progress:
    """Lines with the minutes since the beginning in front."""

    def __init__(self, out: Console, budget: Budget) -> None:
        self._out, self._budget = out, budget
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(20),
            progress.MofNCompleteColumn(),
            Clock(budget),
            console=out,
            transient=True,
            disable=not out.is_terminal,
        )
        self._task = self._bar.add_task("starting Spark", total=None)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, title: str, place: int, total: int) -> None:
        """A workload begins."""
        self._out.print(f"[bold]{title}[/bold]", highlight=False)
        self._bar.update(self._task, description=title, completed=place, total=total)

    def say(self, text: str) -> None:
        """Something that happened."""
        self._out.print(f"  {_minutes(self._budget.elapsed):>6}  {text}", highlight=False, markup=False)

    def tell(self, cell: Cell) -> None:
        """A cell is measured."""
        times = ", ".join(f"{name} {_span(cell.median(name))}" for name in cell.seconds if cell.has(name))
        checked = {True: "; exact", False: "; DIFFERS", None: ""}[cell.exact]
        self.say(f"{cell.part}, {cell.size}: {times}{checked}")


class Clock(progress.ProgressColumn):
    """Elapsed and remaining minutes."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget = budget

    def render(self, task: progress.Task) -> Text:
        """Both, or only the first if there is no limit."""
        left = self._budget.left
        remaining = "" if math.isinf(left) else f", {_minutes(max(left, 0))} remain"
        return Text(f"{_minutes(self._budget.elapsed)} elapsed{remaining}")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _span(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"
