"""Threads that work on Spark: each in a scheduler pool of its own, each with the session it works for.

PySpark gives every Python thread a JVM thread. What Spark keeps per JVM thread (the pool, job groups, the active
session, whose settings parsing goes by) does not follow by itself: it is handed on here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from penstock.engine.spark.jvm import java

POOL = "spark.scheduler.pool"


def spark_threads(spark: SparkSession) -> Callable[[Callable[[], None], int], threading.Thread]:
    """Makes threads that inherit the caller's Spark properties; each number has its pool.

    Under the FAIR scheduler, which local sessions have, pools share the cores evenly; under FIFO they mean nothing.
    """

    def made(worker_loop: Callable[[], None], number: int) -> threading.Thread:
        def in_pool() -> None:
            spark.sparkContext.setLocalProperty(POOL, f"penstock-{number}")
            worker_loop()

        return InheritableThread(target=in_pool, name=f"penstock-{number}", daemon=True)

    return made


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Make a session the active one of this thread while the block runs."""
    sessions = java(session).org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
