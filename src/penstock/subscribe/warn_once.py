"""Trouble that lasts is logged once, and again when it has become another, or comes back after a while without any."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from penstock.said_once import SaidOnce

PAST_SECONDS: Final = 600.0
"""Trouble that nobody met for so long is past. Shorter gaps are part of it: of trouble that comes and goes, too."""


class WarnOnce:
    """Warnings about things that have names."""

    def __init__(self, log: logging.Logger, message: str, stopwatch: Callable[[], float] = time.monotonic) -> None:
        """`message` has a place for the name and one for the error."""
        self._log, self._message, self._stopwatch = log, message, stopwatch
        self._said = SaidOnce()
        self._met_at: dict[str, float] = {}

    def warn(self, name: str, error: Exception) -> None:
        """Log an error, unless it was the last one of this name."""
        now = self._stopwatch()
        if now - self._met_at.get(name, now) > PAST_SECONDS:
            self._said.forget(name)
        self._met_at[name] = now
        if self._said.is_news(name, text := str(error)):
            self._log.warning(self._message, name, text)
