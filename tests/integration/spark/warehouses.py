"""A warehouse and a schema of its own for one test, on the session that all share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables


@contextmanager
def warehouse(spark: SparkSession, root: Path, schema: str = "shop", **settings: Any) -> Iterator[StreamTables]:
    """An opened warehouse with an empty current schema; settings of its session touch no other test."""
    session = spark.newSession()
    session.sql(f"CREATE SCHEMA {schema} LOCATION '{root / 'tables' / f'{schema}.db'}'")
    session.sql(f"USE {schema}")
    try:
        with penstock.open(root, spark=session, settings=settings) as opened:
            yield opened
    finally:
        session.sql("USE default")
        session.sql(f"DROP SCHEMA {schema} CASCADE")
