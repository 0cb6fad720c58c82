"""Holding a stream table for the length of a refresh.

The lease is renewed in the background; its fencing token goes into every catalog write. A worker that lost it, asleep
or cut off, finds out before its commit and again at the catalog; a commit that slips through in between is refused by
the table itself, whose newest version is no longer the pinned one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from penstock.catalog.model import Lease
from penstock.catalog.owner import current_owner
from penstock.catalog.writer import CatalogWriter
from penstock.errors import LeaseLost, PenstockError, TableBusy
from penstock.interrupts import DeferInterrupt
from penstock.refresh.listener import refuse_to_listeners

PATIENCE = timedelta(minutes=10)
"""How long a refresh waits for another worker on the same table."""

_log = logging.getLogger("penstock.refresh")


class HeldLease:
    """A lease that stays alive until the block ends."""

    def __init__(self, catalog: CatalogWriter, lease: Lease, duration: timedelta, now: Callable[[], datetime]) -> None:
        self.lease = lease
        self._catalog = catalog
        self._duration = duration
        self._now = now
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease-{lease.stream_table_id}", daemon=True)

    def check(self) -> None:
        """LeaseLost if another worker holds the table now."""
        self.lease = self._catalog.renew_lease(self.lease, self._duration, now=self._now())

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self._catalog.release_lease(self.lease)
        except PenstockError as error:
            # It runs out by itself; what became of the refresh is said by the refresh.
            _log.warning("cannot free a lease: %s", error.text, extra={"event": "lease"})

    def _keep(self) -> None:
        while not self._ended.wait(self._duration.total_seconds() / 3):
            try:
                self.check()
            except LeaseLost:
                return
            except PenstockError:
                # The catalog may be back before the lease ends; the commit checks once more.
                continue


@contextmanager
def hold(
    catalog: CatalogWriter,
    stream_table_id: int,
    duration: timedelta,
    now: Callable[[], datetime],
    sleep: Callable[[float], None],
    patience: timedelta,
) -> Iterator[HeldLease]:
    """Take the table, waiting while another worker has it; TableBusy when patience ends."""
    refuse_to_listeners()
    deadline = now() + patience
    held: HeldLease | None = None
    try:
        while held is None:
            try:
                # An interrupt must not leave a lease of which no code here knows.
                with DeferInterrupt():
                    lease = catalog.acquire_lease(stream_table_id, current_owner(), duration, now=now())
                    held = HeldLease(catalog, lease, duration, now)
            except TableBusy:
                if now() >= deadline:
                    raise
                sleep(0.1)
        held.start()
        yield held
    finally:
        if held is not None:
            with DeferInterrupt():
                held.end()
