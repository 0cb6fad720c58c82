"""Alerts as log lines: a warning, or an information if the alert needs no action."""

from __future__ import annotations

import logging

from penstock.catalog.model import Alert

_log = logging.getLogger("penstock.alert")


class LogSink:
    """The logger `penstock.alert`, with the fields `stream_table`, `event` and `facts`."""

    name = "log"

    def deliver(self, alert: Alert) -> None:
        """Write one line."""
        # Error texts have several lines; a log line is one.
        facts = " ".join(" ".join(f"{name}={value}".split()) for name, value in alert.facts.items())
        _log.log(
            logging.INFO if alert.event.is_good_news else logging.WARNING,
            "%s %s%s",
            alert.stream_table,
            alert.event.value,
            f": {facts}" if facts else "",
            extra={"stream_table": alert.stream_table, "event": alert.event.value, "facts": dict(alert.facts)},
        )
