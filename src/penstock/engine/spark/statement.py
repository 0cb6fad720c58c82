"""Errors of a statement that Spark runs as it stands, or of a query that it analyses.

Each is one error of ours, with the place in the text that is at fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.failures.silence import unlogged
from penstock.engine.failures.spark_errors import Meaning, chain_of, deciding_link, meaning_of, system_error
from penstock.engine.failures.spark_message import parted
from penstock.errors import PenstockError, QueryInvalid, StatementFailed
from penstock.lang.tokens import lines_at

_PLACE: Final = re.compile(r"== SQL \(line (\d+), position (\d+)\)|\bline (\d+),? pos (\d+)")
_NOT_FOUND: Final = re.compile(r"`([^`]+)` cannot be found")


@contextmanager
def statement_errors(spark: SparkSession, text: str) -> Iterator[None]:
    """StatementFailed for what Spark says about a statement; it stays reachable as the error's `__context__`."""
    try:
        with unlogged():
            yield
    except (PySparkException, Py4JError) as error:
        # Its chain is py4j's and the JVM's stack, which say nothing about the statement.
        raise failure_of(spark, text, error) from None


def failure_of(spark: SparkSession, text: str, error: PySparkException | Py4JError) -> PenstockError:
    """What an exception means for the author of the statement."""
    system = system_error(error, "the statement")
    if system is not None:
        return system
    chain = chain_of(error)
    meaning = meaning_of(chain)
    link = deciding_link(chain, meaning)
    why, fix = parted(link.message)
    if meaning is Meaning.CONFLICT:
        fix = "Another writer committed to the same table meanwhile. This statement changed nothing: run it again."
    elif (link.condition or "").startswith("TABLE_OR_VIEW_NOT_FOUND"):
        fix = _nearest(spark, link.message)
    return StatementFailed(
        why=why or link.kind, condition=link.condition or "SPARK", where=_where(text, link.message), fix=fix
    )


def refused_query(spark: SparkSession, query: str, error: PySparkException) -> PenstockError:
    """What an exception means for the author of a query that was to be analysed."""
    failure = failure_of(spark, query, error)
    if not isinstance(failure, StatementFailed):
        return failure
    fix = str(failure.facts["fix"]) or "Mend the query, or create what it reads."
    return QueryInvalid(why=failure.text, fix=fix)


def _where(text: str, said: str) -> str:
    """The place that Spark names, if it is one in this text and not in that of a view."""
    found = _PLACE.search(said)
    if found is None:
        return ""
    # Spark counts positions from 1, and columns of its parser from 0.
    line, column = (int(found[1]), int(found[2]) - 1) if found[1] else (int(found[3]), int(found[4]))
    lines = text.splitlines(keepends=True)
    if not 1 <= line <= len(lines):
        return ""
    return lines_at(text, min(sum(map(len, lines[: line - 1])) + column, len(text)))


def _nearest(spark: SparkSession, said: str) -> str:
    named = _NOT_FOUND.search(said)
    with unlogged():
        names = [row.tableName for row in spark.sql("SHOW TABLES").collect()]
    close = get_close_matches(named[1], names, n=1) if named else []
    return f"Did you mean {close[0]}?" if close else "SHOW TABLES lists what there is."
