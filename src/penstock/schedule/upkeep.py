"""What a scheduler does beside refreshing: old history goes, and tables whose files lie badly are laid out anew.

    every hour     history and alerts older than `history_keep_days` are dropped
    every minute   of the tables with many refreshes since they were last looked at, those that need it are laid out,
                   if that can be done well within their lag

A larger table is left to `penstock optimize` at an hour that suits its owner: while rewritten it is not refreshed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from penstock.errors import PenstockError
from penstock.graph.side_by_side import ThreadFactory
from penstock.layout.advise import advise_one
from penstock.layout.optimize import optimize_table
from penstock.refresh.warehouse import Warehouse
from penstock.schedule.due import Picture

PRUNE_EVERY: Final = 3600.0
LOOK_EVERY: Final = 60.0
REFRESHES: Final = 100
"""Refreshes after which a table's layout is looked at again."""

BYTES_PER_SECOND: Final = 5 * 2**20
"""A table of this many bytes per second of its lag can be rewritten in a fraction of it, even on a slow machine."""

_log = logging.getLogger("penstock.upkeep")


class Upkeep:
    """Called all the time by the scheduler's loop; works on a thread of its own, one piece at a time."""

    def __init__(
        self, warehouse: Warehouse, new_thread: ThreadFactory, stopwatch: Callable[[], float] = time.monotonic
    ) -> None:
        self._warehouse = warehouse
        self._new_thread = new_thread
        self._stopwatch = stopwatch
        self._pruned = self._looked = stopwatch()
        self._refreshes: dict[int, int] = {}
        """Stream table → its number of refreshes when its layout was last looked at."""
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Start what is due, if nothing is at work."""
        now = self._stopwatch()
        if self._thread is not None and self._thread.is_alive():
            return
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        self._thread = self._new_thread(self._work, 0)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.prune()
            self.lay_out()
        except PenstockError as error:
            _log.warning("upkeep goes on later: %s", error.text, extra={"event": "upkeep"})
        except Exception as error:
            _log.error("upkeep failed: %s", error, exc_info=error, extra={"event": "upkeep"})

    def prune(self) -> None:
        """Drop old history and alerts, once an hour."""
        if self._stopwatch() - self._pruned < PRUNE_EVERY:
            return
        self._pruned = self._stopwatch()
        catalog, keep = self._warehouse.catalog, timedelta(days=self._warehouse.settings.history_keep_days)
        catalog.prune_history(keep, now=self._warehouse.now())
        catalog.prune_alerts(keep, now=self._warehouse.now())

    def lay_out(self) -> list[str]:
        """Lay out what needs it; returns the names. Nothing while the catalog is paused."""
        warehouse = self._warehouse
        if warehouse.catalog.paused():
            return []
        picture = Picture.of(warehouse.catalog, warehouse.settings.min_target_lag)
        counted = {each.stream_table_id: each.refresh_count for each in warehouse.catalog.all_counters()}
        done = []
        for meta in picture.scheduled():
            number = counted.get(meta.id, 0)
            if number - self._refreshes.setdefault(meta.id, number) < REFRESHES:
                continue
            self._refreshes[meta.id] = number
            advice = advise_one(warehouse, meta)
            within = picture.lags[meta.table_id].total_seconds() * BYTES_PER_SECOND
            if advice.needed and advice.layout.bytes <= within and optimize_table(warehouse, meta, advice).done:
                done.append(str(meta.name))
        return done
