"""A line on stderr that shows what a command is working on.

It is drawn only on a terminal and erased at the end; stdout and logs never see it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.cli.context.terminal import is_terminal


class Reporter:
    """What the API calls with its progress; forwards to the line on the terminal, if there is one."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar = bar
        self._task = task

    def __call__(self, progress: Any) -> None:
        if self._bar is None:
            return
        words = [getattr(progress, field, None) for field in ("name", "stage", "message")]
        text = " · ".join(str(word) for word in words if word) or str(progress)
        self._bar.update(
            self._task,
            description=text,
            completed=getattr(progress, "done", None),
            total=getattr(progress, "total", None),
        )


@contextmanager
def working(text: str) -> Iterator[Reporter]:
    """Show `text` while the block runs."""
    if not is_terminal(sys.stderr):
        yield Reporter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        yield Reporter(bar, bar.add_task(text, total=None))
