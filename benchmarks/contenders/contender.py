"""Something that is run once per turn, timed, and checked at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field


@dataclass
class Contender(ABC):
    """One side of a comparison."""

    name: str
    every: int = field(default=1, kw_only=True)
    """Run in every turn, or in the first of every so many: for work of many seconds."""
    samples: list[float] = field(default_factory=list, init=False)
    """Seconds of the counted turns."""

    @abstractmethod
    def run(self) -> None:
        """What is timed: carry the newest changes into the result."""

    @abstractmethod
    def exact(self) -> bool:
        """True if the result is the query's; called after the last turn."""

    def count(self, seconds: float) -> None:
        """A counted turn took this long."""
        self.samples.append(seconds)
