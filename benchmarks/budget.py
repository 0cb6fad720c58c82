"""The time that a run may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Budget:
    """Minutes from now on; a run stops at a seam once they are spent."""

    minutes: float
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self._began

    @property
    def left(self) -> float:
        """Seconds to the end; negative beyond it."""
        return self.minutes * 60 - self.elapsed

    def allows(self, minutes: float) -> bool:
        """True if that much more fits."""
        return minutes * 60 <= self.left
