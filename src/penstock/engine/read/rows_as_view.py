"""Rows shown under a name while one statement is analysed.

A DataFrame keeps what its names meant when it was analysed, so the name can be taken away again at once: it never
stands in the way of a table that a user creates later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from penstock.names import quote


@dataclass(frozen=True, slots=True)
class NamedRows:
    """A name, its columns with their Spark types, and where the rows come from."""

    name: str
    columns: Sequence[tuple[str, str]]
    rows: Callable[[], Sequence[Sequence[Any]]]


@contextmanager
def rows_as_views(spark: SparkSession, wanted: Sequence[NamedRows]) -> Iterator[None]:
    """Show rows under their names within the block; a table or view of that name that is there already wins."""
    views = []
    try:
        for each in wanted:
            if spark.catalog.tableExists(each.name):
                continue
            schema = ", ".join(f"{quote(column)} {kind}" for column, kind in each.columns)
            spark.createDataFrame([tuple(row) for row in each.rows()], schema).createTempView(each.name)
            views.append(each.name)
        yield
    finally:
        for name in views:
            spark.catalog.dropTempView(name)
