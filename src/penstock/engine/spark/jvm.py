"""Java names as seen from Python, each looked up once.

py4j asks the JVM for every part of a dotted name, every time it is written, and the JVM then searches all jars for a
class of that name before it believes in a package. Looked up once, a name costs nothing.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession


class Packages:
    """A package, or all of them, that remembers what was found in it."""

    def __init__(self, package: Any) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._package, name)
        found = Packages(found) if isinstance(found, JavaPackage) else found
        setattr(self, name, found)
        return found


_known = Packages(None)


def java(spark: SparkSession) -> Any:
    """The Java names of a session's JVM."""
    global _known
    # A process has one JVM at a time, but may have had another.
    if _known._package is not spark._jvm:
        _known = Packages(spark._jvm)
    return _known


def external_catalog(spark: SparkSession) -> Any:
    """What a session's catalog keeps its schemas, tables and views in: none of them is the session's own."""
    return spark._jsparkSession.sessionState().catalog().externalCatalog()
