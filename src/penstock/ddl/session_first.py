"""A new warehouse is made only once it has a session, so that a refused session leaves nothing behind.

Missing Java, another session in this process, names of another warehouse: each is found before the first file is
written. If the JVM ends at its start, the file with its output stays, because the error names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.catalog.warehouse_folder import made
from penstock.ddl.names_of_others import refuse_names_of_others
from penstock.engine.spark.session import check_session, running_session, start_session
from penstock.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def session_first(root: Path, spark: SparkSession | None, settings: Settings) -> Iterator[None]:
    """Start Spark, or check what was passed in, before the block makes a warehouse; if that fails, Spark ends again."""
    before = running_session()
    with made(root):
        if spark is None:
            started = start_session(root, settings)
        else:
            check_session(spark)
            refuse_names_of_others(spark, root, [])
        try:
            yield
        except BaseException:
            if spark is None and before is None:
                started.stop()
            raise
