"""What Spark's catalog holds under the names of stream tables: our views, or what others put there.

Our views bear a hash of their own text. It does not fit a view that others made or gave another text; it still fits a
view of ours that is only behind its definition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.delta.definition import text_hash
from penstock.engine.spark.jvm import external_catalog, java
from penstock.names import TableName

MARK = "penstock.view"
"""The property of our views."""
_STORAGE: Final = re.compile(r"\bdelta\.`((?:[^`]|``)+)`")


@dataclass(frozen=True, slots=True)
class Held:
    """What stands under a name."""

    is_view: bool
    text: str = ""
    is_ours: bool = False


def marked(text: str) -> str:
    """The clause that marks a view of that text as ours."""
    return f"TBLPROPERTIES ('{MARK}' = '{text_hash(text)}')"


def stamp(spark: SparkSession, schema: str, tables: Sequence[str]) -> int | None:
    """A number that changes with anything under these names; None if there is no such schema."""
    jvm = java(spark)
    # One text instead of a call per name: a stream table's name has no comma.
    names = jvm.java.util.regex.Pattern.compile(",").splitAsStream(",".join(tables)).toList()
    try:
        found = external_catalog(spark).getTablesByName(
            schema, jvm.org.apache.spark.api.python.PythonUtils.toSeq(names)
        )
    except (PySparkException, Py4JError):
        return None
    return int(found.hashCode())


def held_under(spark: SparkSession, name: TableName) -> Held | None:
    """What stands under a name, or None."""
    external = external_catalog(spark)
    if not external.databaseExists(name.schema) or not external.tableExists(name.schema, name.table):
        return None
    held = external.getTable(name.schema, name.table)
    if not held.viewText().isDefined():
        return Held(is_view=False)
    text, mark = str(held.viewText().get()), held.properties().get(MARK)
    return Held(is_view=True, text=text, is_ours=mark.isDefined() and str(mark.get()) == text_hash(text))


def folder_of_view(held: Held) -> str | None:
    """The folder whose rows one of our views shows; None if it is not ours."""
    found = _STORAGE.search(held.text) if held.is_ours else None
    return found and found[1].replace("``", "`")


def set_aside(spark: SparkSession, name: TableName) -> TableName | None:
    """Give the table under a name another one, with all its rows; None if Spark refuses."""
    external, number = external_catalog(spark), 1
    while external.tableExists(name.schema, (other := TableName(name.schema, f"{name.table}_found_{number}")).table):
        number += 1
    try:
        spark.sql(f"ALTER TABLE {name.sql} RENAME TO {other.sql}")
    except (PySparkException, Py4JError):
        return None
    return other
