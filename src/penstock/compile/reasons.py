"""Reason codes: why a query, or one refresh of it, was not incremental. They are public and stable.

A code that refuses a query has advice. Users see it with their own expression and its place in the query. The page of
errors is generated from here.
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    "AS_ASKED": "the refresh mode is FULL",
    "SUBQUERY": "Spark does not turn the correlation of a subquery into a join",
    "LIMIT": "LIMIT cuts rows that cannot be put in one order",
    "ORDER_BY": "ORDER BY stands below the top of the query, where it means nothing that can be maintained",
    "SET_OPERATION": "Spark does not turn a set operation into joins",
    "LATERAL": "a LATERAL join or a generator has no delta rule",
    "RECURSION": "Penstock computes a recursive CTE again and compares the result with the stored rows",
    "SAMPLE": "TABLESAMPLE chooses other rows at every run",
    "NON_DETERMINISTIC": "a function returns another value at every run (rand, uuid, …)",
    "CLOCK": "the query reads the session (current_user, current_timezone, …)",
    "UDF": "a user-defined aggregate or SQL function has no delta rule",
    "SOURCE_NOT_DELTA": "a source is not a Delta table, so Penstock cannot read its changes",
    "COLLATION": "a key or result column has a collation other than UTF8_BINARY",
    "NOT_COMPARABLE": "a key, DISTINCT or result column has a type whose values cannot be compared",
    "ORDER_DEPENDENT": "an aggregate or window function depends on the order of rows, and nothing fixes that order",
    "ROUND_TRIP": "Spark writes an expression as SQL and reads that text as another expression",
    "NORMAL_FORM": "one of Spark's rules fails on the query before Penstock can find its delta rules",
    "UNKNOWN_OPERATOR": "this version of Penstock does not know an operator of the query",
    "CHEAPER": "mode AUTO: Penstock estimated that recomputing takes less time than applying the changes",
    "PROBE": "mode AUTO: Penstock ran the mode that it expects to be slower, to measure it again",
    "FIRST_FILL": "the stream table had no rows yet",
    "DEFINITION_CHANGED": "the definition changed since the last refresh",
    "SOURCE_CHANGED": "a source changed its columns or was recreated",
    "VIEW_CHANGED": "a view that the query reads was redefined",
    "UDF_CHANGED": "a user-defined function that the query calls was redefined",
    "FRONTIER_LOST": "the old version of a source can no longer be read",
    "FOREIGN_WRITE": "another program wrote to the stream table's storage",
    "STATE_DAMAGED": "stored rows contradict the delta",
    "DELTA_RAISED": "the delta query failed where the query itself does not",
    "ON_REQUEST": "a user asked for a rebuild",
    "INCONSISTENT_PINS": "the sources do not agree on one version of a shared table",
    "UPSTREAM_BLOCKED": "an upstream stream table is suspended or failed",
    "STILL_RUNNING": "a refresh came due before the one before it had ended",
    "TABLE_BUSY": "another process was refreshing it",
}

ADVICE: dict[str, str] = {
    "SUBQUERY": "Write the subquery as a join.",
    "LIMIT": "Order by columns that can be sorted.",
    "ORDER_BY": "Drop the ORDER BY; order when reading.",
    "SET_OPERATION": "Write it as a join, or with UNION ALL and DISTINCT.",
    "LATERAL": "Use explode, posexplode, inline, stack or json_tuple.",
    "RECURSION": "Keep the levels in tables of their own, or leave it FULL.",
    "SAMPLE": "Choose rows by a condition on their columns, such as pmod(hash(id), 10) = 0.",
    "NON_DETERMINISTIC": "Compute the value when the row is written.",
    "CLOCK": "Write the value as a literal, or keep it in a small table.",
    "UDF": "Use built-in functions, or a Python function of single values.",
    "SOURCE_NOT_DELTA": "Write the source as a Delta table.",
    "COLLATION": "Use COLLATE UTF8_BINARY.",
    "NOT_COMPARABLE": "Cast it to STRING.",
    "ORDER_DEPENDENT": "Fix the order of the rows, or keep this part in a stream table of its own and read that one.",
    "ROUND_TRIP": "Compute the expression when the row is written, or another way.",
    "NORMAL_FORM": "Write the subquery or condition as a join of its own.",
    "UNKNOWN_OPERATOR": "Leave it FULL, or keep this part in a stream table of its own and read that one.",
}
"""What to do about a query that is refused for a reason."""

PAGE = "docs/reference/errors.md"
_SEE = ", see "


def anchor(code: str) -> str:
    """The heading of a reason on its page, as a link names it."""
    return f"reason-{code.lower()}"


def link(code: str) -> str:
    """Where a reason is explained."""
    return f"{PAGE}#{anchor(code)}"


def with_link(code: str, text: str) -> str:
    """A reason's text with the place where it is explained; unchanged, if the code is not one of these."""
    return f"{text}{_SEE}{link(code)}" if code in REASONS else text


def without_link(text: str) -> str:
    """A reason's text as a table shows it, where the code stands beside it."""
    return text.partition(f"{_SEE}{PAGE}")[0]
