"""Whoever listens to the progress of work: told by one thread at a time, and never able to hurt the work.

What the listener raises is logged once, and then it is told nothing more. KeyboardInterrupt and SystemExit go through:
they are not about what was told. The work waits until the listener returns, so a listener that waited for work would
wait for ever: it is refused.
"""

from __future__ import annotations

import logging
import threading

from penstock.errors import CalledByProgress
from penstock.refresh.result import Progress, Report

_told = threading.local()
"""Of a thread: the stream table that it is telling a listener of."""
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
            _told.name = progress.name
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
            finally:
                _told.name = None

    return told


def refuse_to_listeners() -> None:
    """CalledByProgress if this thread is in a listener, for which other work waits."""
    name = getattr(_told, "name", None)
    if name is not None:
        raise CalledByProgress(name=name)
