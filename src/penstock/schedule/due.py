"""Which stream tables are due. Pure.

A stream table is due when its grid offers a stamp newer than what it shows, so that the promise is kept instead of
being noticed broken. A suspended table waits for a person; one in error, for something that it depends on to change.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from penstock.catalog.model import Status, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.errors import CycleInGraph
from penstock.graph.cycles import in_circles
from penstock.graph.dag import StreamGraph
from penstock.graph.grid import due_stamp
from penstock.graph.lag import resolve_lags
from penstock.said_once import SaidOnce
from penstock.schedule.backoff import Backoff

_log = logging.getLogger("penstock.scheduler")

SCHEDULED = frozenset({Status.ACTIVE, Status.INITIALIZING})


@dataclass(frozen=True)
class Picture:
    """All stream tables of a catalog at one moment, and how fresh each has to be."""

    tables: Mapping[str, StreamTableMeta]
    """By Delta table id."""
    graph: StreamGraph
    lags: Mapping[str, timedelta]
    dag_version: int
    circle: str | None = None
    """Which tables read each other in a circle, and are left out with those that read them."""

    @classmethod
    def of(cls, catalog: CatalogReader, minimum: timedelta) -> Picture:
        """The picture that the catalog gives now."""
        version, tables, dependencies = catalog.dag_version(), catalog.get_all(), catalog.all_dependencies()
        graph, circle = StreamGraph.build(tables, dependencies), None
        try:
            resolved = resolve_lags(graph, minimum)
        except CycleInGraph as cycle:
            # Two definitions that changed at the same moment can close a circle: that must not stop all other tables.
            circle = cycle.text
            inside = {node.key for node in in_circles(graph)}
            # Nor can the tables that read them.
            alone = inside.union(*(graph.downstream(key) for key in inside))
            tables = [meta for meta in tables if meta.table_id not in alone]
            graph = StreamGraph.build(tables, dependencies)
            resolved = resolve_lags(graph, minimum)
        lags = {key: held.lag for key, held in resolved.items()}
        return cls({meta.table_id: meta for meta in tables}, graph, lags, version, circle)

    @property
    def newest(self) -> datetime | None:
        """The newest data timestamp that any table shows."""
        return max((meta.data_timestamp for meta in self.tables.values() if meta.data_timestamp), default=None)

    def scheduled(self) -> Iterable[StreamTableMeta]:
        """The tables that a scheduler works on whenever they are due, by name."""
        return (meta for meta in self.tables.values() if meta.status in SCHEDULED)

    def in_error(self) -> Iterable[StreamTableMeta]:
        """The tables that are tried again when something that they depend on has changed, by name."""
        return (meta for meta in self.tables.values() if meta.status is Status.ERROR)

    def due(self, meta: StreamTableMeta, now: datetime) -> datetime | None:
        """The stamp that a table is to be refreshed for; None if it is fresh enough."""
        return due_stamp(now, self.lags[meta.table_id], meta.data_timestamp)


def due(catalog: CatalogReader, now: datetime, minimum: timedelta, backoff: Backoff) -> list[StreamTableMeta]:
    """The stream tables that are due at a moment, by name; of those in error, the ones that have rested.

    Nothing here knows what such a table failed on, nor whether that has changed.
    """
    picture = Picture.of(catalog, minimum)
    log_circle(picture, SaidOnce())
    rested = [meta for meta in picture.in_error() if _has_rested(meta, now, backoff)]
    return [meta for meta in chain(picture.scheduled(), rested) if picture.due(meta, now) is not None]


def _has_rested(meta: StreamTableMeta, now: datetime, backoff: Backoff) -> bool:
    return meta.updated_at is None or now - meta.updated_at >= backoff.steady(meta.consecutive_errors)


def log_circle(picture: Picture, said: SaidOnce) -> None:
    """Log a circle, unless it is the one that was logged before."""
    if picture.circle is None:
        said.forget("circle")
    elif said.is_news("circle", picture.circle):
        _log.error("stream tables in a circle are left alone: %s", picture.circle, extra={"event": "circle"})
