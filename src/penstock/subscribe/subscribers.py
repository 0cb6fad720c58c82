"""The durable subscriptions, with how far each is behind its stream table.

behind  =  newest LSN of the stream table − acknowledged LSN
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from penstock.catalog.model import Subscriber
from penstock.engine.changelog.changelog import Changelog
from penstock.errors import PenstockError
from penstock.refresh.warehouse import Warehouse
from penstock.subscribe.subscribe import SNAPSHOT_FIRST


@dataclass(frozen=True, slots=True)
class SubscriberRow:
    """A durable subscription and where it has got to."""

    name: str
    stream_table: str
    acknowledged: int | None
    """The LSN up to which everything was taken over; None if it begins with all rows and has not taken them over."""
    behind: int | None
    """Events that it has not acknowledged; None if its stream table is gone or cannot be read."""
    created_at: datetime
    acknowledged_at: datetime | None


def subscriber_rows(warehouse: Warehouse) -> list[SubscriberRow]:
    """All durable subscriptions, by name."""
    newest: dict[str, int | None] = {}
    rows = []
    for each in warehouse.catalog.subscribers():
        if each.table_id not in newest:
            newest[each.table_id] = _newest_lsn(warehouse, each)
        last = newest[each.table_id]
        begun = each.acknowledged != SNAPSHOT_FIRST
        rows.append(
            SubscriberRow(
                name=each.name,
                stream_table=each.stream_table,
                acknowledged=each.acknowledged if begun else None,
                behind=None if last is None else last - max(each.acknowledged, 0),
                created_at=each.created_at,
                acknowledged_at=each.acknowledged_at,
            )
        )
    return rows


def _newest_lsn(warehouse: Warehouse, subscriber: Subscriber) -> int | None:
    meta = next((each for each in warehouse.catalog.get_all() if each.table_id == subscriber.table_id), None)
    if meta is None:
        return None
    try:
        return Changelog(str(meta.name), warehouse.logs.at(meta.path)).newest().last_lsn
    # A list of subscriptions must not fail because one stream table cannot be read.
    except PenstockError:
        return None
