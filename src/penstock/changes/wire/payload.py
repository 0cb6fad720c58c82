"""Row values as JSON: what `before` and `after` of an envelope hold.

    integers            exact, whatever their size
    DECIMAL             text in plain digits ("0.10"), as Debezium's decimal.handling.mode=string
    DATE, TIME          ISO 8601 text
    TIMESTAMP           ISO 8601 text with microseconds, in UTC with "Z"; TIMESTAMP_NTZ without
    BINARY              base64 text
    DOUBLE, FLOAT       a number; "NaN", "Infinity" and "-Infinity" are text, as JSON has no such numbers
    ARRAY, MAP, STRUCT  array, object, object
    NULL                null, and the column stays

These are the forms that Debezium has as text. Its numeric forms of times (days or microseconds since 1970)
need a schema that says what they mean, which these envelopes do not carry.
"""

from __future__ import annotations

import base64
import math
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_AS_IT_IS = {int, str, bool, type(None)}
_UTC = pa.timestamp("us", "UTC")
_LOCAL = pa.timestamp("us")


def json_value(value: Any) -> Any:
    """A Python value in the forms above; what JSON holds by itself comes back as it is."""
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value
    if kind is float:
        return value if math.isfinite(value) else _not_finite(value)
    if kind is Decimal:
        return format(value, "f")
    if kind is datetime:
        return _timestamp(value)
    if kind is time:
        return value.isoformat(timespec="microseconds")
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is dict:
        if _AS_IT_IS.issuperset(map(type, value.values())):
            return value
        return {name if type(name) is str else _name(name): json_value(held) for name, held in value.items()}
    if kind is list or kind is tuple:
        return [json_value(held) for held in value]
    return value


def json_column(column: pa.ChunkedArray) -> list[Any]:
    """All values of a column in the forms above; whole columns are converted at once where Arrow can."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_integer(kind) and not column.null_count:
        return column.to_numpy().tolist()  # type: ignore[no-any-return]
    if pa.types.is_floating(kind):
        return _floats(column)
    if pa.types.is_decimal(kind):
        return _decimals(column)
    if pa.types.is_timestamp(kind):
        text = column.cast(_UTC if kind.tz else _LOCAL, safe=False).cast(pa.string())
        return pc.utf8_replace_slice(text, start=10, stop=11, replacement="T").to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_date(kind) or pa.types.is_time(kind):
        return column.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
    values = column.to_pylist()
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [_typed(value, kind) for value in values]
    return values  # type: ignore[no-any-return]


def _floats(column: pa.ChunkedArray) -> list[Any]:
    values = column.to_pylist()
    if column.null_count == len(column) or np.isfinite(column.drop_null().to_numpy()).all():
        return values  # type: ignore[no-any-return]
    return [json_value(value) for value in values]


def _decimals(column: pa.ChunkedArray) -> list[Any]:
    text = column.cast(pa.string()).to_pylist()
    # Arrow writes an exponent where there are many zeros.
    return [format(Decimal(each), "f") if each is not None and "E" in each else each for each in text]


def _typed(value: Any, kind: pa.DataType) -> Any:
    """A nested value; only its type distinguishes a map from a list of pairs."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {_name(name): _typed(held, kind.item_type) for name, held in value}
    if pa.types.is_struct(kind):
        return {field.name: _typed(value[field.name], field.type) for field in kind}
    if pa.types.is_nested(kind):
        return [_typed(each, kind.value_type) for each in value]
    return json_value(value)


def _name(key: Any) -> str:
    name = json_value(key)
    return name if isinstance(name, str) else str(name)


def _timestamp(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
