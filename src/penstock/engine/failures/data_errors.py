"""Run Spark work so that every failure is one of our errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.engine.failures.lost_file import lost_file
from penstock.engine.failures.silence import unlogged
from penstock.engine.failures.spark_errors import understood, without_file
from penstock.errors import InternalError


@contextmanager
def data_errors(name: str) -> Iterator[None]:
    """QueryFailed for what Spark raised over data, FrontierLost for a missing file, and so on: see `spark_errors`."""
    try:
        with unlogged():
            yield
    except (PySparkException, Py4JError, OSError, MemoryError) as error:
        gone = lost_file(error)
        if gone is not None:
            raise without_file(gone) from None
        meant = understood(error, name)
        # Of an error that is understood, py4j's and the JVM's stacks say nothing more.
        raise meant from error if isinstance(meant, InternalError) else None
