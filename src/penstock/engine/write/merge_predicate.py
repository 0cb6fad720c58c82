"""The condition of a merge as SQL text: which stored rows a change means, and the range of files they can lie in.

Two dialects with one meaning: DataFusion, which delta-rs speaks, and Spark. Every comparison stands in parentheses:
DataFusion reads `a IS NOT DISTINCT FROM b AND c` as `a IS NOT DISTINCT FROM (b AND c)`. A range only skips files; it
must hold for every row it is derived from, NULLs included, or a NULL key misses its row and is inserted a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.engine.delta.log_entry import STATISTICS_STEP
from penstock.engine.delta.storage_schema import Fields, holds, prunable
from penstock.engine.read.sql_literals import Dialect, identifier, literal
from penstock.errors import InternalError

OP = "__ps_op"
"""Column of a change that says what its row does: 'u' upsert, 'd' delete, 'i' insert."""


@dataclass(frozen=True, slots=True)
class MergeRange:
    """The values one key column takes in a change; `low` and `high` are None if it is NULL throughout."""

    low: Any
    high: Any
    has_null: bool


def match(key: Sequence[str], fields: Fields, dialect: Dialect) -> str:
    """Rows of t and s with equal keys, compared null-safely; the empty key matches everything."""
    if not key:
        return "(1 = 1)"
    return " AND ".join(_equal(column, fields[column], dialect) for column in key)


def within(ranges: Mapping[str, MergeRange], fields: Fields, dialect: Dialect) -> str:
    """The ranges as literals over the columns of t, or '' if none of them can be written down."""
    terms = [_range(column, span, fields[column], dialect) for column, span in ranges.items()]
    return " AND ".join(term for term in terms if term)


def rangeable(column: str, fields: Fields) -> bool:
    """True if a range over this column may decide which files are read."""
    return prunable(fields[column])


def _equal(column: str, delta_type: Any, dialect: Dialect) -> str:
    name = identifier(column, dialect)
    if dialect == "datafusion":
        return f"(t.{name} IS NOT DISTINCT FROM s.{name})"
    if holds(delta_type, "map"):
        return f"({_comparable(f't.{name}', delta_type)} <=> {_comparable(f's.{name}', delta_type)})"
    return f"(t.{name} <=> s.{name})"


def _comparable(expression: str, delta_type: Any, depth: int = 0) -> str:
    """Spark compares no maps: a map stands for its entries, in the order in which they are stored."""
    if not holds(delta_type, "map"):
        return expression
    inner = f"x{depth}"
    match delta_type["type"]:
        case "map":
            entry = {
                "type": "struct",
                "fields": [
                    {"name": "key", "type": delta_type["keyType"]},
                    {"name": "value", "type": delta_type["valueType"]},
                ],
            }
            return _comparable(f"map_entries({expression})", {"type": "array", "elementType": entry}, depth)
        case "array":
            element = _comparable(inner, delta_type["elementType"], depth + 1)
            return expression if element == inner else f"transform({expression}, {inner} -> {element})"
        case "struct":
            parts = [
                _comparable(f"{expression}.{identifier(field['name'], 'spark')}", field["type"], depth)
                for field in delta_type["fields"]
            ]
            return f"CASE WHEN {expression} IS NOT NULL THEN struct({', '.join(parts)}) END"
    raise InternalError(why=f"cannot compare a column of type {delta_type!r}")


def _range(column: str, span: MergeRange, delta_type: Any, dialect: Dialect) -> str:
    name = f"t.{identifier(column, dialect)}"
    if span.low is None:
        return f"({name} IS NULL)" if span.has_null else ""
    low, high = span.low, span.high
    if isinstance(low, datetime):
        try:
            low, high = low - STATISTICS_STEP, high + STATISTICS_STEP
        except OverflowError:
            return ""
    low_text, high_text = literal(low, delta_type, dialect), literal(high, delta_type, dialect)
    if low_text is None or high_text is None:
        return ""
    bounds = f"({name} >= {low_text}) AND ({name} <= {high_text})"
    return f"(({bounds}) OR ({name} IS NULL))" if span.has_null else f"({bounds})"
