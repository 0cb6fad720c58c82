"""Running Spark work so that whatever goes wrong is one of our errors.

A missing file means that an old version is gone; an error that Spark raises over data is the query's; the rest is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.engine.catalyst import unlogged
from penstock.engine.scan import lost_file
from penstock.engine.spark_message import first_lines
from penstock.errors import FrontierLost, QueryFailed


@contextmanager
def data_errors(name: str) -> Iterator[None]:
    """FrontierLost for a missing file, QueryFailed for anything that Spark raised over data."""
    try:
        with unlogged():
            yield
    except (PySparkException, Py4JError) as error:
        gone = lost_file(error)
        if gone is not None:
            raise FrontierLost(source=name, version="(old)", why=f"{gone} is gone") from error
        raise QueryFailed(name=name, why=first_lines(error)) from error
