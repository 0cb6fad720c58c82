"""Functions that a user registered in a session, carried over into the session that refreshes a stream table.

A stream table's session is its own, so that temporary views and settings of the user's cannot change a result.
Functions are part of the query: without them it could not be read. They live as long as the user's session; a process
that opens the warehouse later registers them again before it refreshes.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

_OURS = "system.session."
"""Where Spark keeps functions that were registered and not created."""


def carry_functions(source: SparkSession, target: SparkSession) -> None:
    """Register every function of the source session in the target session."""
    known, ours = (each._jsparkSession.sessionState().functionRegistry() for each in (source, target))
    names = known.listFunction()
    # One call for all names: most sessions have nothing but Spark's own functions.
    for index, name in enumerate(str(names.mkString("\n")).split("\n")):
        if not name.replace("`", "").startswith(_OURS):
            continue
        identifier = names.apply(index)
        builder, info = known.lookupFunctionBuilder(identifier), known.lookupFunction(identifier)
        ours.registerFunction(identifier, info.get(), builder.get())
