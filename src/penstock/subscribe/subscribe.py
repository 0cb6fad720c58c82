"""Begin a subscription: find the table and the point, and for a name that is known, where its reader had got to."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.catalog.model import StreamTableMeta, Subscriber
from penstock.engine.changelog.changelog import Changelog
from penstock.errors import InvalidValue, StreamTableGone, SubscriptionExists
from penstock.refresh.warehouse import Warehouse
from penstock.subscribe.backpressure import Policy
from penstock.subscribe.choose import chooser
from penstock.subscribe.feed import Feed
from penstock.subscribe.fetch import Delivery
from penstock.subscribe.start import Point, Start, locate
from penstock.subscribe.subscription import Subscription

SNAPSHOT_FIRST = -1
"""Acknowledged position of a durable subscription that begins with all rows and has not acknowledged them."""


def subscribe(
    warehouse: Warehouse,
    feed: Feed,
    meta: StreamTableMeta,
    start: Start,
    *,
    where: str | None = None,
    columns: Sequence[str] | None = None,
    policy: str = "block",
    buffer: int = 1024,
    delivery: Delivery = "every",
    progress: bool = False,
    durable: str | None = None,
) -> Subscription:
    """Follow a stream table from a point on; a durable subscription goes on after what it acknowledged."""
    wanted = Policy.parse(policy)
    name = str(meta.name)
    changelog = Changelog(name, warehouse.logs.at(meta.path))
    definition = changelog.definition()
    collated = [visible for visible, _, kind in definition.columns if "COLLATE" in kind.upper()]
    zone = definition.settings.get("spark.sql.session.timeZone")
    choose = chooser(changelog.schema(changelog.newest()), where, columns, zone, collated)
    if durable is not None and not wanted.keeps_all:
        raise InvalidValue(what="policy", value=policy, allowed="block, demand: a durable subscription loses nothing")
    point = locate(changelog, start) if durable is None else _resumed(warehouse, meta, changelog, start, durable)
    catalog = warehouse.catalog
    return Subscription(
        feed,
        changelog,
        point,
        choose=choose,
        policy=wanted,
        buffer=buffer,
        delivery=delivery,
        progress=progress,
        name=durable,
        acknowledge=None if durable is None else lambda lsn: catalog.acknowledge(durable, lsn, now=warehouse.now()),
    )


def _resumed(warehouse: Warehouse, meta: StreamTableMeta, changelog: Changelog, start: Start, durable: str) -> Point:
    held = warehouse.catalog.find_subscriber(durable)
    if held is None:
        point = locate(changelog, start)
        begun = point.lsn if point.snapshot is None else SNAPSHOT_FIRST
        warehouse.catalog.add_subscriber(Subscriber(durable, meta.table_id, str(meta.name), begun, warehouse.now()))
        return point
    if held.stream_table != str(meta.name):
        raise SubscriptionExists(name=durable, stream_table=held.stream_table)
    if held.table_id != meta.table_id:
        raise StreamTableGone(name=str(meta.name), why=f"it was dropped and created again since {durable} was made")
    if held.acknowledged == SNAPSHOT_FIRST:
        return locate(changelog, Start("snapshot"))
    return locate(changelog, Start.after(held.acknowledged))
