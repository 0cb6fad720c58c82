"""Trouble that lasts is logged once, and again when it has become another."""

from __future__ import annotations

import logging


class WarnOnce:
    """Warnings about things that have names."""

    def __init__(self, log: logging.Logger, message: str) -> None:
        """`message` has a place for the name and one for the error."""
        self._log, self._message = log, message
        self._last: dict[str, str] = {}

    def warn(self, name: str, error: Exception) -> None:
        """Log an error, unless it was the last one of this name."""
        text = str(error)
        if self._last.get(name) != text:
            self._last[name] = text
            self._log.warning(self._message, name, text)
