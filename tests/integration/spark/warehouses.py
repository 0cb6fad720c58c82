"""A warehouse and a schema of its own for one test, on the session that all share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock
from penstock.api import StatementResult

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


def with_names_of_its_own(spark: SparkSession, root: Path) -> SparkSession:
    """A session that knows no tables yet, as that of another process would; its tables go into the warehouse."""
    from pyspark.sql import SparkSession

    context, own = spark.sparkContext, {"spark.sql.warehouse.dir": str(root / "tables")}
    made = context._jvm.org.apache.spark.sql.classic.SparkSession(context._jsc.sc(), own)
    return SparkSession(context, made)


def answer(ps: StreamTables, text: str) -> StatementResult:
    """What a stream table statement answers."""
    result = ps.sql(text)
    assert isinstance(result, StatementResult)
    return result


@contextmanager
def opened_anew(spark: SparkSession, root: Path, **options: Any) -> Iterator[StreamTables]:
    """A warehouse as another process would open it."""
    with penstock.open(root, spark=with_names_of_its_own(spark, root), **options) as opened:
        yield opened
