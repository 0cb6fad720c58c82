"""The clock as something that can be handed in: nothing in the scheduler asks the system for the time by itself."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The present moment, in UTC, and a way to let time pass."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""


class SystemClock:
    """The clock on the wall."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
