"""The soak on the terminal: a line per stream table with its lag drawn as it goes; elsewhere a line now and then."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from soak.samples import Line, Samples

BARS = "▁▂▃▄▅▆▇█"
LATELY = 40


class Screen(AbstractContextManager["Screen"]):
    """Shows samples while they come in."""

    def __init__(self, out: Console, seconds: float) -> None:
        self._out, self._seconds, self._said = out, seconds, -30.0
        self._live = Live(console=out, refresh_per_second=2, transient=True) if out.is_terminal else None

    def __enter__(self) -> Screen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, at: float, samples: Samples) -> None:
        """What has been seen up to now."""
        if self._live is not None:
            self._live.update(_table(at, self._seconds, samples))
        elif at - self._said >= 30:
            self._said = at
            worst = min(samples.lines.values(), key=lambda line: line.within)
            now = max((line.lags[-1][1] / line.target for line in samples.lines.values() if line.lags), default=0.0)
            self._out.print(
                f"{at / 60:5.1f} of {self._seconds / 60:.0f} min  least time within target {worst.within:.1%} "
                f"({worst.name.split('.')[-1]})  largest lag now {now:.0%} of its target"
            )


def _table(at: float, seconds: float, samples: Samples) -> Table:
    table = Table(title=f"{at / 60:.1f} of {seconds / 60:.0f} minutes", box=None)
    for title in ("stream table", "target", "lag", "lately", "within"):
        table.add_column(title, justify="left" if title in {"stream table", "lately"} else "right")
    for line in sorted(samples.lines.values(), key=lambda line: (line.target, line.name)):
        lag = line.lags[-1][1] if line.lags else 0.0
        style = "red" if lag > line.target else ""
        table.add_row(
            line.name.split(".")[-1],
            f"{line.target:g} s",
            Text(f"{lag:.1f} s", style),
            _bars(line),
            f"{line.within:.1%}",
        )
    return table


def _bars(line: Line) -> str:
    return "".join(BARS[min(int(lag / line.target * (len(BARS) - 1)), len(BARS) - 1)] for _, lag in line.lags[-LATELY:])
