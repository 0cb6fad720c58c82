"""Interrupts that wait: a block of work that must not be cut in two finishes before the interrupt is raised.

The handler of SIGINT runs at once. What it raises (KeyboardInterrupt, unless a program has set a handler of its own) is
held back while the block runs, and raised at its end, in place of an error of the block itself. A handler that raises
nothing changes nothing. A second interrupt does not wait: it leaves the block where it is.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

_CALLS_SPARK: Final = "pyspark.core.context"


class SecondInterrupt(BaseException):
    """The second interrupt, raised inside the block; no Exception, so that no handler in the block swallows it."""


class DeferInterrupt:
    """A block that the first interrupt does not cut in two: it calls `on_interrupt`, to bring the end nearer.

    Python delivers signals to the main thread only. In any other thread, and inside another such block, this does
    nothing.
    """

    __slots__ = ("_before", "_on_interrupt", "_stop", "has_ended")

    def __init__(self, on_interrupt: Callable[[DeferInterrupt], None] | None = None) -> None:
        self._on_interrupt = on_interrupt
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._stop: BaseException | None = None
        self.has_ended = False

    def __enter__(self) -> DeferInterrupt:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before) and not isinstance(getattr(before, "__self__", None), DeferInterrupt):
                self._before = before
                signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.has_ended = True
        if self._before is None:
            return
        # Unless the program set another handler meanwhile.
        if signal.getsignal(signal.SIGINT) == self._interrupted:
            signal.signal(signal.SIGINT, self._before)
        if self._stop is not None:
            raise self._stop from None

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        assert self._before is not None
        # PySpark's own handler would call the JVM here, over a connection that may be waiting for an answer.
        calls_spark = getattr(self._before, "__module__", None) == _CALLS_SPARK
        handler = signal.default_int_handler if calls_spark else self._before
        try:
            handler(number, frame)
        except BaseException as stop:
            if self._stop is not None:
                raise SecondInterrupt from None
            self._stop = stop
            if self._on_interrupt is not None:
                self._on_interrupt(self)
