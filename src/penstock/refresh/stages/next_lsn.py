"""Where the events of the next commit begin in a stream table's changelog.

    after our newest record               as long as the log has its entry
    after what the catalog wrote down     if that entry was cleaned away: a table that rested while others optimised it
    at the present millisecond            if the catalog was rebuilt meanwhile, so that the position is lost

No position is given out twice, so a reader who comes back either goes on or hears that it missed something. The present
millisecond, counted from 1970, is beyond what any table has reached that had no thousand events a second ever since.
"""

from __future__ import annotations

from datetime import datetime

from penstock.catalog.model import StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.engine.delta.commit_record import FIRST_LSN
from penstock.engine.write.storage_state import Pin


def next_lsn(pin: Pin, meta: StreamTableMeta, catalog: CatalogReader, now: datetime) -> int:
    """The first position that the next commit may give out."""
    if pin.record is not None:
        return pin.record.last_lsn + 1
    if not was_filled(pin, meta):
        return FIRST_LSN
    seen = [each.acknowledged for each in catalog.subscribers(meta.table_id)]
    if (journaled := catalog.journaled().get(meta.table_id)) is not None:
        seen.append(journaled.first_lsn + journaled.events - 1)
    known = int(now.timestamp() * 1000) if meta.last_lsn is None else meta.last_lsn
    # A worker that died between its commit and the catalog did not write down its last position.
    return max([known, *seen]) + 1


def was_filled(pin: Pin, meta: StreamTableMeta) -> bool:
    """True if the table has ever had a commit of ours, whether or not the log still tells of it."""
    return pin.record is not None or pin.transaction is not None or meta.is_populated
