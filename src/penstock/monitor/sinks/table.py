"""Alerts in the catalog, where `ps.alerts()` finds them; a catalog in PostgreSQL also notifies its listeners."""

from __future__ import annotations

from penstock.catalog.model import Alert
from penstock.catalog.writer import CatalogWriter


class TableSink:
    """The alerts table."""

    name = "table"

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog

    def deliver(self, alert: Alert) -> None:
        """Keep it."""
        self._catalog.record_alert(alert)
