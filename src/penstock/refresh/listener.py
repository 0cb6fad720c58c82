"""Whoever listens to the progress of work: told by one thread at a time, and never able to hurt the work.

What the listener raises is logged once, and then it is told nothing more. KeyboardInterrupt and SystemExit go through:
they are not about what was told.
"""

from __future__ import annotations

import logging
import threading

from penstock.refresh.result import Progress, Report

_log = logging.getLogger("penstock.refresh")


def listener(report: Report | None) -> Report | None:
    """A report that cannot raise."""
    if report is None:
        return None
    lock, failed = threading.Lock(), threading.Event()

    def told(progress: Progress) -> None:
        with lock:
            if failed.is_set():
                return
            try:
                report(progress)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                failed.set()
                why = f"{type(error).__name__}: {error}"
                _log.warning(
                    "the progress of %s is told no more, because the function for it raised %s", progress.name, why
                )

    return told
