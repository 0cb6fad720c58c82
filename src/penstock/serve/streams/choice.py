"""What a client asked for: a stream table, rows and columns of it, the form of events, and the transport.

Clients with the same choice receive the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api import StreamTables
from penstock.changes.wire.event_json import Format
from penstock.serve.streams.framing import Framing
from penstock.subscribe.start import Start
from penstock.subscribe.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice; equal choices share everything."""

    table: str
    framing: Framing
    form: Format = "json"
    where: str | None = None
    columns: tuple[str, ...] | None = None

    def subscribe(
        self, tables: StreamTables, start: Start, *, progress: bool = False, durable: str | None = None
    ) -> Subscription:
        """Follow the table from a point on; reads the log, so not on the event loop."""
        return tables.subscribe(
            self.table,
            where=self.where,
            columns=self.columns,
            progress=progress,
            durable=durable,
            **start.keywords(),
        )
