"""How long to wait after errors that may pass: twice as long each time, up to a limit, and never quite the same.

    wait(n) = min(first · 2ⁿ⁻¹, longest) · (0.75 … 1.25)

The random part keeps tables that failed together, when a server went away, from all coming back at once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta

from penstock.settings import Settings


@dataclass
class Backoff:
    """Waits by the number of failures in a row."""

    first: timedelta
    longest: timedelta
    chance: random.Random = field(default_factory=random.Random)

    @classmethod
    def of(cls, settings: Settings) -> Backoff:
        """As the settings say."""
        first, longest = settings.backoff_seconds, settings.backoff_max_seconds
        return cls(timedelta(seconds=first), timedelta(seconds=max(first, longest)))

    def steady(self, failures: int) -> timedelta:
        """The wait without its random part, for a caller that keeps no memory of failures."""
        return min(self.first * (1 << min(max(failures, 1) - 1, 32)), self.longest)

    def wait(self, failures: int) -> timedelta:
        """How long to wait after this many failures in a row.

        >>> calm = Backoff(timedelta(seconds=2), timedelta(seconds=60), random.Random(1))
        >>> [round(calm.wait(number).total_seconds()) for number in (1, 2, 3, 4, 9)]
        [2, 5, 9, 14, 60]
        """
        return self.steady(failures) * self.chance.uniform(0.75, 1.25)
