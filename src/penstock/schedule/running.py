"""A scheduler at work in a thread of its own, as `ps.run()` returns it."""

from __future__ import annotations

import logging
import threading
from types import TracebackType

from penstock.arguments import checked
from penstock.schedule.scheduler import Scheduler

_log = logging.getLogger("penstock.scheduler")


@checked
class Running:
    """Keeps a warehouse fresh until `stop`; also a context manager.

    `leads` is False while another process is the one that acts.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._error: BaseException | None = None
        self._left: list[str] = []
        self._thread = threading.Thread(target=self._work, name="penstock-scheduler", daemon=True)
        self._thread.start()

    @property
    def leads(self) -> bool:
        """True while this process is the one that acts."""
        return self._scheduler.leads

    @property
    def rival(self) -> str | None:
        """The process that acts instead."""
        return self._scheduler.rival

    def at_work(self) -> list[str]:
        """The stream tables that are being refreshed here now."""
        return self._scheduler.at_work()

    def stop(self) -> list[str]:
        """Begin nothing more and wait for what runs; returns what did not end in time. Raises what ended it early."""
        self._scheduler.stop()
        return self.wait()

    def wait(self) -> list[str]:
        """Return when the scheduler has ended."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._left

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _work(self) -> None:
        try:
            self._left = self._scheduler.run()
        except BaseException as error:
            _log.error("the scheduler has ended: %s", error, extra={"event": "ended"})
            self._error = error
