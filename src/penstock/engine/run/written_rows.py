"""How many rows an INSERT wrote: Spark does not say it, the commit in the table's log does.

If the log has more than one write since the statement began, another writer was at work, and the number is unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from penstock.engine.run.workspace import Logs
from penstock.engine.spark.registry import table_path
from penstock.errors import PenstockError
from penstock.names import TableName

_WRITES = "WRITE", "CREATE TABLE AS SELECT", "REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT"
_COUNTED = "numOutputRows"


def counting_rows(spark: SparkSession, logs: Logs, table: TableName) -> Callable[[], int | None]:
    """Look at a table before a statement; what is returned says afterwards how many rows it wrote, if that is known."""
    before = _newest(spark, logs, table)

    def written() -> int | None:
        after = _newest(spark, logs, table)
        if after is None:
            return None
        begin = before[1] if before is not None and before[0] == after[0] else -1
        writes = [each for each in logs.at(after[0]).commits(begin, after[1]) if each.operation in _WRITES]
        counted = (writes[0].info.get("operationMetrics") or {}).get(_COUNTED) if len(writes) == 1 else None
        return None if counted is None else int(counted)

    return written


def _newest(spark: SparkSession, logs: Logs, table: TableName) -> tuple[str, int] | None:
    """Where a table is, and its newest version."""
    try:
        path = table_path(spark, table)
        return None if path is None else (path, logs.at(path).latest_version())
    except (PenstockError, OSError):
        # Not a Delta table, or not one whose log can be read here: the statement itself has succeeded.
        return None


def counts(spark: SparkSession, inserted: int) -> DataFrame:
    """The answer that Delta gives for UPDATE, DELETE and MERGE; no job runs for it."""
    return spark.sql(f"SELECT {inserted}L AS num_affected_rows, {inserted}L AS num_inserted_rows")
