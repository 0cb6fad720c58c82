"""What was seen while the soak ran: every second the lag of every stream table, every now and then the memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.monitor.status import StatusRow

ASKED = 0.95
"""Share of the time that every table has to be within its target lag."""

SPARE_MB = 100
"""Memory that may come and go by chance."""

GROWTH = 1.15


@dataclass
class Line:
    """One stream table over time."""

    name: str
    target: float
    """Seconds."""
    lags: list[tuple[float, float]] = field(default_factory=list)
    """(Seconds since the start, seconds of lag)."""

    @property
    def within(self) -> float:
        """Share of the samples within the target."""
        return sum(lag <= self.target for _, lag in self.lags) / max(len(self.lags), 1)

    @property
    def worst(self) -> float:
        """The largest lag seen."""
        return max((lag for _, lag in self.lags), default=0.0)


@dataclass
class Samples:
    """Everything that was seen."""

    lines: dict[str, Line] = field(default_factory=dict)
    memory: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    """(Seconds since the start, megabytes by kind)."""

    def add(self, at: float, rows: Iterable[StatusRow]) -> None:
        """One look at all tables."""
        for row in rows:
            line = self.lines.setdefault(row.name, Line(row.name, row.effective_lag.total_seconds()))
            if row.current_lag is not None:
                line.lags.append((at, row.current_lag.total_seconds()))

    def late(self) -> list[Line]:
        """The tables that were not within their target for long enough."""
        return [line for line in self.lines.values() if line.within < ASKED]

    def grown(self) -> list[str]:
        """Kinds of memory that were not flat: more at the end than after a third of the time, and not by chance."""
        if len(self.memory) < 3:
            return []
        last_at, last = self.memory[-1]
        _, early = next(each for each in self.memory if each[0] >= last_at / 3)
        return [kind for kind, used in last.items() if used > GROWTH * early[kind] + SPARE_MB]
