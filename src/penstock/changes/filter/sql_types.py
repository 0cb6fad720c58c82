"""Arrow types under their SQL names, for messages and casts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

PLAIN: dict[str, Any] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "VOID": pa.null(),
}
"""The types without parameters. A timestamp of SQL is an instant: whatever zone an Arrow type names, it is shown in."""

_NAMES = {kind: name for name, kind in PLAIN.items()}


def sql_name(kind: Any) -> str:
    """What SQL calls an Arrow type.

    >>> sql_name(pa.decimal128(12, 2)), sql_name(pa.timestamp("us", "Europe/Berlin")), sql_name(pa.list_(pa.int32()))
    ('DECIMAL(12,2)', 'TIMESTAMP', 'ARRAY')
    """
    types = pa.types
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    if types.is_large_string(kind) or types.is_string_view(kind):
        return "STRING"
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return "BINARY"
    if types.is_map(kind):
        return "MAP"
    if types.is_struct(kind):
        return "STRUCT"
    if types.is_list(kind) or types.is_large_list(kind):
        return "ARRAY"
    return _NAMES.get(kind, str(kind).upper())
