"""Alerts posted to an address, as JSON, from a thread of their own."""

from __future__ import annotations

from penstock.catalog.model import Alert
from penstock.monitor.background import Background
from penstock.monitor.post import post


class WebhookSink:
    """One POST per alert: `event`, `st`, `at`, and the facts."""

    name = "webhook"

    def __init__(self, url: str) -> None:
        self._url = url
        self.background = Background("webhook", self._send)

    def deliver(self, alert: Alert) -> None:
        """Hand it over."""
        self.background.put(alert)

    def _send(self, alert: Alert) -> None:
        post(self._url, alert.to_json(), self.background.ending)
