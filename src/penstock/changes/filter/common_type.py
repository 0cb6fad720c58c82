"""The type in which values of different types are compared, as Spark (ANSI) widens them.

    integers → BIGINT · integers and decimals → a decimal that holds both · any FLOAT or DOUBLE → DOUBLE
    DATE and TIMESTAMP_NTZ → TIMESTAMP_NTZ · either of them and TIMESTAMP → TIMESTAMP, in a UTC session only

Where Spark would round (a decimal of more than 38 digits) or where the answer hangs on the rules of a time zone, there
is no common type: the comparison is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_MAX_DIGITS = 38
_NTZ = pa.timestamp("us")
_INSTANT = pa.timestamp("us", "UTC")


def common_type(kinds: Sequence[Any], utc: bool) -> Any | None:
    """The type that all of `kinds` are compared in; None if there is none. `utc`: the session's zone is UTC."""
    families = {_family(kind) for kind in kinds} - {"null"}
    if not families:
        return pa.bool_()
    if len(families) == 1:
        return _within(families.pop(), kinds)
    if families <= {"integer", "decimal", "float"}:
        return pa.float64() if "float" in families else _decimal(kinds)
    if families == {"date", "local"}:
        return _NTZ
    if families <= {"date", "local", "instant"} and utc:
        return _INSTANT
    return None


def cast(values: Any, kind: Any) -> Any:
    """An Arrow array, chunked or not, in a type that `common_type` chose for it."""
    source = values.type
    if source == kind:
        return values
    if pa.types.is_decimal(source) and pa.types.is_floating(kind):
        # Arrow divides by a power of ten, which may be off by an ulp; through text the nearest double is found.
        return values.cast(pa.string()).cast(kind)
    if pa.types.is_integer(source) and pa.types.is_floating(kind):
        # A BIGINT beyond 2^53 becomes the nearest double, as in Spark.
        return values.cast(kind, safe=False)
    if pa.types.is_date32(source):
        return values.cast(_NTZ).cast(kind)
    return values.cast(kind)


def cast_scalar(value: Any, kind: Any) -> Any:
    """One Arrow scalar in a type that `common_type` chose for it."""
    if pa.types.is_integer(value.type) and pa.types.is_decimal(kind):
        # Arrow asks for room for any integer, not for this one.
        return pa.scalar(None if value.as_py() is None else Decimal(value.as_py()), kind)
    return cast(pa.array([value.as_py()], value.type), kind)[0]


def _family(kind: Any) -> str:
    types = pa.types
    if kind in _DIGITS:
        return "integer"
    if types.is_null(kind):
        return "null"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_float32(kind) or types.is_float64(kind):
        return "float"
    if types.is_decimal128(kind):
        return "decimal"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "string"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return "binary"
    if types.is_date32(kind):
        return "date"
    if types.is_timestamp(kind) and kind.unit == "us":
        return "instant" if kind.tz else "local"
    return "other"


def _within(family: str, kinds: Sequence[Any]) -> Any | None:
    chosen = {
        "boolean": pa.bool_(),
        "integer": pa.int64(),
        "float": pa.float64(),
        "string": pa.large_string(),
        "binary": pa.large_binary(),
        "date": pa.date32(),
        "local": _NTZ,
        "instant": _INSTANT,
    }
    return _decimal(kinds) if family == "decimal" else chosen.get(family)


def _decimal(kinds: Sequence[Any]) -> Any | None:
    sizes = [
        (_DIGITS[kind], 0) if kind in _DIGITS else (kind.precision - kind.scale, kind.scale)
        for kind in kinds
        if not pa.types.is_null(kind)
    ]
    whole, scale = max(whole for whole, _ in sizes), max(scale for _, scale in sizes)
    return pa.decimal128(whole + scale, scale) if whole + scale <= _MAX_DIGITS else None
