"""Trouble that lasts is logged once, and again when it has become another."""

from __future__ import annotations

import logging

from penstock.said_once import SaidOnce


class WarnOnce:
    """Warnings about things that have names."""

    def __init__(self, log: logging.Logger, message: str) -> None:
        """`message` has a place for the name and one for the error."""
        self._log, self._message = log, message
        self._said = SaidOnce()

    def warn(self, name: str, error: Exception) -> None:
        """Log an error, unless it was the last one of this name."""
        if self._said.is_news(name, text := str(error)):
            self._log.warning(self._message, name, text)
