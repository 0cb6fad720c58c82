"""A query written in Python: `SELECT * FROM python('module:function')`.

The function takes the session and returns a DataFrame. It is called anew whenever the query is analysed, and the tables
in the DataFrame's plan are pinned like those of SQL, so a plan that has no SQL form can still be run in full. The
definition holds the function's name, not its code: every process that refreshes must be able to import it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import PenstockError, QueryInvalid

_FORM = re.compile(r"\s*SELECT\s+\*\s+FROM\s+python\s*\(\s*'([\w.]+):([\w.]+)'\s*\)\s*;?\s*", re.IGNORECASE)


def frame_of(spark: SparkSession, query: str) -> DataFrame:
    """The query as a DataFrame, analysed and not run."""
    named = _FORM.fullmatch(query)
    if named is None:
        return spark.sql(query)
    return frame_from(_imported(named[1], named[2]), spark)


def frame_from(function: Callable[[SparkSession], Any], spark: SparkSession) -> DataFrame:
    """What a function of the user's makes of a session; what it raises is an error of the query, and no bug of ours."""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    try:
        found = function(spark)
    except (PenstockError, PySparkException, Py4JError):
        raise
    except Exception as error:
        raise QueryInvalid(
            why=f"the function {name} raised {type(error).__name__}: {error}", fix="Mend the function."
        ) from error
    if not isinstance(found, DataFrame):
        raise QueryInvalid(
            why=f"the function {name} returned {type(found).__name__}, not a DataFrame",
            fix="Return a DataFrame of the session that is passed in.",
        )
    return found


def is_python(query: str) -> bool:
    """True if the query is a function's name, so that its text says nothing of its parts."""
    return _FORM.fullmatch(query) is not None


def named_query(function: Callable[..., Any]) -> str | None:
    """The query that calls a function by its name; None if another process could not find it by that."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
    if not module or module == "__main__" or "<" in name:
        return None
    return f"SELECT * FROM python('{module}:{name}')"


def _imported(module: str, name: str) -> Callable[[SparkSession], Any]:
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise QueryInvalid(
            why=f"the function {module}:{name} cannot be imported: {error}",
            fix="Put it into a module on the path of every process that refreshes.",
        ) from error
    if not callable(found):
        raise QueryInvalid(why=f"{module}:{name} is not a function", fix="Name a function of the session.")
    return found  # type: ignore[no-any-return]
