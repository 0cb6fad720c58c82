"""Calls into the JVM come to their end: an interrupt cancels what Spark runs, and is raised when the call has answered.

    one interrupt     all jobs are cancelled until the call answers, which is soon; then KeyboardInterrupt
    the second one    the call is given up: its connection is closed, so that the next call is not given its answer

A call that is cut in two would leave its answer to the next one, and its job at work. PySpark's own handler of SIGINT
does both. So what Python sends to the JVM goes through here, from the start of a session of ours on, and in one that is
handed in from `open` on; of the jobs of other threads it cancels as many as PySpark would: all.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
from py4j.clientserver import JavaClient
from pyspark import SparkContext
from pyspark.sql import DataFrame

from penstock.interrupts import DeferInterrupt, SecondInterrupt

_AGAIN: Final = 0.2
"""Seconds between two attempts: the call may go on with another job."""


def defer_interrupts(gateway: Any) -> None:
    """Make every call through a gateway one that an interrupt does not cut in two."""
    client = gateway._gateway_client
    if not isinstance(client, JavaClient) or "send_command" in vars(client):
        return
    send = client.send_command

    def send_command(*call: Any, **named: Any) -> Any:
        with DeferInterrupt(on_interrupt=_cancel_until_ended):
            try:
                return send(*call, **named)
            except SecondInterrupt:
                if (connection := client.get_thread_connection()) is not None:
                    connection.close()
                raise

    client.send_command = send_command


def arrow_rows(frame: DataFrame) -> pa.Table:
    """All rows on the driver: of what Spark sends by itself, an interrupt likewise waits for the end."""
    with DeferInterrupt(on_interrupt=_cancel_until_ended):
        return frame.toArrow()


def cancel_jobs() -> None:
    """Cancel all jobs of this process; the threads that wait for one get an error."""
    context = SparkContext._active_spark_context
    # That there is nothing to cancel any more is as good.
    with suppress(Exception):
        if context is not None:
            context.cancelAllJobs()


def _cancel_until_ended(block: DeferInterrupt) -> None:
    def cancel() -> None:
        while not block.has_ended:
            cancel_jobs()
            time.sleep(_AGAIN)

    # In a thread, which has a connection of its own.
    threading.Thread(target=cancel, name="penstock-cancel", daemon=True).start()
