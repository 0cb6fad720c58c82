"""One tick of the scheduler: which stream tables are due now. Pure; the caller refreshes them.

A stream table is due when its grid offers a stamp newer than what it shows, so that the promise is kept instead of
being noticed broken. Suspended and failed tables wait for a person.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from penstock.catalog.model import StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.graph.dag import StreamGraph
from penstock.graph.lag import resolve_lags
from penstock.schedule.grid import due_stamp


def due(catalog: CatalogReader, now: datetime, minimum: timedelta) -> list[StreamTableMeta]:
    """The stream tables that are due at a moment, by name."""
    lags = resolve_lags(StreamGraph.build(catalog.get_all(), catalog.all_dependencies()), minimum)
    return [
        meta
        for meta in catalog.get_all_active()
        if due_stamp(now, lags[meta.table_id].lag, meta.data_timestamp) is not None
    ]
