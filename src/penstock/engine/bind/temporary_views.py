"""Temporary views in queries of stream tables: they end with their session, and a stream table does not.

A refresh runs in a session of its own and does not find them. The user's session does, so CREATE refuses such a query.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from penstock.engine.spark.registry import has_temporary_view
from penstock.errors import QueryInvalid

_SHARED = "global_temp."


def missing_temporary_view(home: SparkSession, error: AnalysisException) -> str | None:
    """The temporary view of `home` that the error says is not there; None if it is about something else."""
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    name = (error.getMessageParameters() or {}).get("relationName", "").strip("`")
    return name if "`" not in name and name and has_temporary_view(home, name) else None


def is_shared(view: str) -> bool:
    """True for a temporary view of the whole application, which every session finds until the last one ends."""
    return view.lower().startswith(_SHARED)


def of_this_session(view: str) -> QueryInvalid:
    """The error for a query that reads a temporary view."""
    name = view.removeprefix(_SHARED)
    return QueryInvalid(
        why=f"{view} is a temporary view, which ends with this session; a stream table goes on without it",
        fix=f"Make it a lasting one with CREATE VIEW {name} AS …, or write its query into this one.",
    )
