"""A warehouse that is new is made once there is a session for it, so that nothing is left where one is refused.

Java that is missing, another session that runs in this process, names of another warehouse: all of them are found out
before the first file is written. What a JVM said that ended at its start is kept: its error names the file.
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
