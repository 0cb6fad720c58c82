"""PySpark's loggers of errors, kept quiet: they print each as kilobytes of JSON with a Java stack on the terminal.

In a session that Penstock started they are quiet as long as it is the running one. In a session that was passed in they
are quiet while work of ours runs. The errors themselves, and what a user logs, stay as they are.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from pyspark import SparkContext
from pyspark.logger import PySparkLogger

_ours: weakref.ref[SparkContext] | None = None
_working = threading.local()


def quiet_in(context: SparkContext) -> None:
    """Quiet while this context is the running one."""
    global _ours
    _ours = weakref.ref(context)
    _filtered()


@contextmanager
def unlogged() -> Iterator[None]:
    """Quiet in this thread while the block runs."""
    _filtered()
    before = getattr(_working, "here", False)
    _working.here = True
    try:
        yield
    finally:
        _working.here = before


def _is_heard(_: Any) -> bool:
    running = SparkContext._active_spark_context
    is_ours = running is not None and _ours is not None and running is _ours()
    return not is_ours and not getattr(_working, "here", False)


@cache
def _filtered() -> None:
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger: logging.Logger = PySparkLogger.getLogger(name)
        # Asked for in PySpark's way: the first to name a logger decides its class for all, and a plain
        # one breaks PySpark's errors, which are then a TypeError for users.
        logger.addFilter(_is_heard)
