"""Alerts for functions of the user's, called on a thread of their own: a slow one delays no refresh."""

from __future__ import annotations

from collections.abc import Callable

from penstock.catalog.model import Alert
from penstock.monitor.background import Background

Listener = Callable[[Alert], None]


class CallbackSink:
    """Every function that was added, one after the other; one that raises does not keep the next from being called."""

    name = "callback"

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self.background = Background("callback", self._call)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Call a function for every alert from now on; returns what ends it."""
        self._listeners = (*self._listeners, listener)

        def end() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

        return end

    def deliver(self, alert: Alert) -> None:
        """Hand it over."""
        if self._listeners:
            self.background.put(alert)

    def _call(self, alert: Alert) -> None:
        failed: Exception | None = None
        for listener in self._listeners:
            try:
                listener(alert)
            except Exception as error:
                failed = error
        if failed is not None:
            raise failed
