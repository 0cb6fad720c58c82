"""Names and values as SQL text, in two dialects: Spark's, and that of DataFusion, which delta-rs speaks."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from penstock.engine.delta.storage_schema import decimal_of
from penstock.errors import InternalError

Dialect = Literal["datafusion", "spark"]

_LONGEST_LITERAL = 256


def identifier(name: str, dialect: Dialect) -> str:
    """The name, quoted."""
    return '"' + name.replace('"', '""') + '"' if dialect == "datafusion" else "`" + name.replace("`", "``") + "`"


def text_literal(value: str, dialect: Dialect) -> str:
    """The string as a literal that the dialect reads back unchanged."""
    if dialect == "datafusion":
        return "'" + value.replace("'", "''") + "'"
    # `$` is escaped too: Spark substitutes ${…} in the text of a statement, literals included.
    plain = "".join(
        character if character.isprintable() and character not in "'\\$" else _escaped(character) for character in value
    )
    return f"'{plain}'"


def literal(value: Any, delta_type: Any, dialect: Dialect) -> str | None:
    """A value of a prunable type as SQL text; None if it cannot be written exactly and shortly."""
    decimal = decimal_of(delta_type)
    if decimal and isinstance(value, Decimal):
        return f"CAST('{value:f}' AS DECIMAL({decimal[0]},{decimal[1]}))"
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value)
    if isinstance(value, str):
        return text_literal(value, dialect) if len(value) <= _LONGEST_LITERAL else None
    if isinstance(value, datetime):
        return _timestamp(value, dialect)
    if isinstance(value, date):
        return f"CAST('{value.isoformat()}' AS DATE)"
    return None


def _timestamp(value: datetime, dialect: Dialect) -> str:
    text = value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    if value.tzinfo is None:
        return (
            f"arrow_cast('{text}', 'Timestamp(Microsecond, None)')"
            if dialect == "datafusion"
            else f"TIMESTAMP_NTZ '{text}'"
        )
    if value.utcoffset() != timedelta(0):
        raise InternalError(why="an instant in a merge predicate must be in UTC")
    if dialect == "datafusion":
        return f"arrow_cast('{text}Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"
    return f"TIMESTAMP_LTZ '{text}+00:00'"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else character
