"""What a run says while it goes on: a line per cell, and where there is a terminal one that counts the time."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.status import Status

from benchmarks.budget import Budget
from benchmarks.cell import Cell


class Progress:
    """Lines with the minutes since the beginning in front."""

    def __init__(self, out: Console, budget: Budget) -> None:
        self._out, self._budget = out, budget
        self._status = Status("starting Spark", console=out)

    def __enter__(self) -> Progress:
        if self._out.is_terminal:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def begin(self, title: str, place: int, total: int) -> None:
        """A workload begins."""
        self._out.print(f"[bold]{title}[/bold]", highlight=False)
        left = self._budget.left
        remaining = f", {max(left, 0) / 60:.0f} min remain" if left != float("inf") else ""
        self._status.update(f"{title} ({place + 1} of {total}; {self._budget.elapsed / 60:.0f} min elapsed{remaining})")

    def say(self, text: str) -> None:
        """Something that happened."""
        elapsed = int(self._budget.elapsed)
        self._out.print(f"  {elapsed // 60:3}:{elapsed % 60:02}  {text}", highlight=False, markup=False)

    def tell(self, cell: Cell) -> None:
        """A cell is measured."""
        times = ", ".join(f"{name} {_span(cell.median(name))}" for name in cell.seconds if cell.has(name))
        checked = {True: "exact", False: "DIFFERS", None: "nothing to check"}[cell.exact]
        self.say(f"{cell.part}, {cell.size}: {times}; {checked}")


def _span(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"
