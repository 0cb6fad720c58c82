"""Announcing: an alert goes to every sink, and no sink can hurt the code that raised it, nor another sink.

A sink that fails is counted, and logged once until it succeeds again. Sinks that may be slow do their work on a thread
of their own (`background.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from penstock.catalog.model import Alert
from penstock.said_once import SaidOnce

_log = logging.getLogger("penstock.monitor")


class Sink(Protocol):
    """Somewhere that alerts go."""

    @property
    def name(self) -> str:
        """What metrics and logs call it."""

    def deliver(self, alert: Alert) -> None:
        """Take one alert; may raise."""


class Announcer:
    """Passes alerts on."""

    def __init__(self, sinks: Iterable[Sink]) -> None:
        self._sinks = tuple(sinks)
        self._warned = SaidOnce()
        self.failures = {sink.name: 0 for sink in self._sinks}

    def __call__(self, alert: Alert) -> None:
        """Tell every sink."""
        for sink in self._sinks:
            try:
                sink.deliver(alert)
            except Exception as error:
                self.failures[sink.name] += 1
                if self._warned.is_news(sink.name):
                    _log.warning(
                        "alerts do not reach %s: %s: %s",
                        sink.name,
                        type(error).__name__,
                        error,
                        extra={"stream_table": alert.stream_table, "event": "sink_failed"},
                    )
            else:
                self._warned.forget(sink.name)
