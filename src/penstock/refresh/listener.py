"""Functions that listen to the progress of work. One thread at a time calls them, and they cannot hurt the work.

What a listener raises is logged once, and it is not called again. KeyboardInterrupt and SystemExit go through: they are
not about the progress. The work waits until the listener returns, so a listener that waits for other work would wait
for ever: its work is refused.
"""

from __future__ import annotations

import logging
import threading

from penstock.errors import CalledByProgress
from penstock.refresh.result import Progress, Report

_reporting = threading.local()
"""Of a thread: the stream table whose progress it is reporting to a listener."""
_log = logging.getLogger("penstock.refresh")


def listener(report: Report | None) -> Report | None:
    """A report that cannot raise."""
    if report is None:
        return None
    lock, failed = threading.Lock(), threading.Event()

    def guarded(progress: Progress) -> None:
        with lock:
            if failed.is_set():
                return
            _reporting.name = progress.name
            try:
                report(progress)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                failed.set()
                why = f"{type(error).__name__}: {error}"
                _log.warning(
                    "the progress of %s is reported no more, because the function for it raised %s",
                    progress.name,
                    why,
                )
            finally:
                _reporting.name = None

    return guarded


def refuse_to_listeners() -> None:
    """CalledByProgress if this thread is in a listener, for which other work waits."""
    name = getattr(_reporting, "name", None)
    if name is not None:
        raise CalledByProgress(name=name)
