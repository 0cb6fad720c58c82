"""Leadership: of all schedulers on one catalog, exactly one acts.

    lead      hold the scheduler's lease, renewed in the background every third of its length while the loop moves
    wait      look at it every second; take it when it is free, has expired, or its holder is certainly dead
    take over whatever the one before still held is freed: a worker of it that wakes up finds its fencing token stale

A lease is also taken when it has not been renewed for its whole length by this process's own stopwatch: clocks of
machines differ, and a clock that was set back would keep a dead leader in office.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from penstock.catalog.model import SCHEDULER, Lease
from penstock.catalog.owner import current_owner
from penstock.catalog.writer import CatalogWriter
from penstock.errors import LeaseLost, PenstockError, TableBusy

TERM: Final = timedelta(seconds=6)
"""How long a leader that has stopped answering stays in office."""

_log = logging.getLogger("penstock.scheduler")


class Leadership:
    """This process at the head of all schedulers of a catalog, until it ends or loses the lease."""

    def __init__(
        self,
        catalog: CatalogWriter,
        lease: Lease,
        stopwatch: Callable[[], float] = time.monotonic,
        moves: Callable[[], bool] = lambda: True,
    ) -> None:
        """`moves` says whether the work that is led still goes on; without that, the lease is left to run out."""
        self.lost = threading.Event()
        self._moves = moves
        self._stopwatch = stopwatch
        self._renewed = stopwatch()
        self._catalog = catalog
        self._lease = lease
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="penstock-leader", daemon=True)
        self._thread.start()

    @property
    def token(self) -> int:
        """The fencing token; a later leader has a larger one."""
        return self._lease.token

    @property
    def is_over(self) -> bool:
        """True if another may be leading: the lease is lost, or was not renewed for its whole length.

        So a process that slept for minutes begins nothing on waking, before it has even asked the catalog.
        """
        return self.lost.is_set() or self._stopwatch() - self._renewed > TERM.total_seconds()

    def end(self) -> None:
        """Step down."""
        self._ended.set()
        self._thread.join()
        if not self.lost.is_set():
            try:
                self._catalog.release_lease(self._lease)
            except PenstockError as error:
                # It runs out by itself.
                _log.warning("cannot free the scheduler's lease: %s", error.text, extra={"event": "lease"})

    def _keep(self) -> None:
        while not self._ended.wait(TERM.total_seconds() / 3):
            if not self._moves():
                # Not given back: the next leader has to see whom it follows, and health that a leader is missing.
                _log.error("the scheduler hangs, and gives the leadership up", extra={"event": "hangs"})
                break
            try:
                self._lease = self._catalog.renew_lease(self._lease, TERM, now=self._catalog.now())
                self._renewed = self._stopwatch()
            except LeaseLost:
                break
            except PenstockError as error:
                _log.warning("cannot renew the scheduler's lease: %s", error.text, extra={"event": "lease"})
                # Others go by the same stopwatch: from now on one of them may be leading.
                if self.is_over:
                    break
        else:
            return
        self.lost.set()


@dataclass
class Candidate:
    """A process that would lead."""

    catalog: CatalogWriter
    stopwatch: Callable[[], float] = time.monotonic
    moves: Callable[[], bool] = lambda: True
    """Whether this process, once it leads, still gets on."""
    rival: str | None = None
    """The process that leads instead."""
    _seen: tuple[Lease, float] | None = None
    _before: str | None = None
    """The process that led before, until everything that it held is free."""

    def stand(self) -> Leadership | None:
        """Lead, or None while another does; to be asked every second or so."""
        catalog, now = self.catalog, self.catalog.now()
        held = catalog.get_lease(SCHEDULER)
        if held is not None:
            if self._seen is None or self._seen[0] != held:
                self._seen = held, self.stopwatch()
            elif self.stopwatch() - self._seen[1] > TERM.total_seconds():
                now = max(now, held.expires_at)
        try:
            lease = catalog.acquire_lease(SCHEDULER, current_owner(), TERM, now=now)
        except TableBusy:
            self.rival = held.holder if held is not None else None
            return None
        if held is not None and held.holder != lease.holder:
            self._before = held.holder
        try:
            self._take_over()
        except BaseException:
            # Given back, or no process could lead until it has run out.
            catalog.release_lease(lease)
            raise
        self.rival = None
        return Leadership(catalog, lease, self.stopwatch, self.moves)

    def _take_over(self) -> None:
        if self._before is not None:
            freed = self.catalog.release_all(self._before)
            _log.warning("took over from %s, freed %d stream tables", self._before, freed, extra={"event": "took_over"})
            self._before = None
        self.catalog.close_orphans(now=self.catalog.now())
