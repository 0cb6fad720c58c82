"""Column types as SQL text ⇄ Spark schema JSON. Spark parses them; nothing is run."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from penstock.compile.stored import StoredColumn
from penstock.names import quote


def schema_json(spark: SparkSession, columns: Iterable[StoredColumn]) -> str:
    """The StructType JSON of storage columns."""
    items = ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in columns)
    return str(spark.sql(f"SELECT {items}").schema.json())
