"""Columns of a stored table: from Delta's schema JSON to Arrow, and rows brought to exactly that form.

delta-rs casts silently in a merge (it rounds decimals, and moves timestamps between zone and no zone), so nothing
reaches a writer before `conform` has compared it with the table. Only casts that cannot lose a bit are made: view and
large strings and binaries, dictionaries, timestamp units, the zone label of an instant, columns of type null.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

from penstock.errors import InternalError, UnstorableColumn

_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_PLAIN: dict[str, pa.DataType] = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_PRUNABLE = frozenset({"byte", "short", "integer", "long", "date", "string", "timestamp", "timestamp_ntz"})

Fields = dict[str, Any]
"""Column name → Delta type (a name, or the JSON object of a nested type), in storage order."""


def fields_of(schema_json: str) -> Fields:
    """The columns of a Delta schema, in order."""
    return {field["name"]: field["type"] for field in json.loads(schema_json)["fields"]}


def decimal_of(delta_type: Any) -> tuple[int, int] | None:
    """(precision, scale) of a decimal type, None of any other.

    >>> decimal_of("decimal(12,2)"), decimal_of("long")
    ((12, 2), None)
    """
    found = _DECIMAL.fullmatch(delta_type) if isinstance(delta_type, str) else None
    return (int(found[1]), int(found[2])) if found else None


def prunable(delta_type: Any) -> bool:
    """True if file statistics of this type can be trusted, no matter which writer made them.

    >>> [prunable(t) for t in ("long", "double", "decimal(15,2)", "decimal(16,2)", "binary")]
    [True, False, True, False, False]
    """
    decimal = decimal_of(delta_type)
    if decimal:
        return decimal[0] <= 15
    return isinstance(delta_type, str) and delta_type in _PRUNABLE


def holds(delta_type: Any, name: str) -> bool:
    """True if the type is `name` or has it anywhere inside."""
    if not isinstance(delta_type, dict):
        return bool(delta_type == name)
    parts = [field["type"] for field in delta_type.get("fields", ())]
    parts += [delta_type[part] for part in ("elementType", "keyType", "valueType") if part in delta_type]
    return delta_type["type"] == name or any(holds(part, name) for part in parts)


def require_storable(schema_json: str) -> None:
    """UnstorableColumn if a name is one that not every writer of the table can handle."""
    for name in fields_of(schema_json):
        if "`" in name:
            why = "Delta's MERGE cannot write the changes of a name with a backtick"
            raise UnstorableColumn(column=name, why=why, fix="Give it a name without one, with AS.")


def only_in_maps(delta_type: Any, name: str) -> bool:
    """True if the type has `name` inside, but nowhere except inside maps."""
    if not isinstance(delta_type, dict):
        return False
    match delta_type["type"]:
        case "map":
            return holds(delta_type, name)
        case "array":
            return only_in_maps(delta_type["elementType"], name)
    inside = [field["type"] for field in delta_type["fields"] if holds(field["type"], name)]
    return bool(inside) and all(only_in_maps(kind, name) for kind in inside)


def nullable(schema_json: str) -> str:
    """The schema with every column and nested field nullable and without column metadata.

    A stream table promises types, not NOT NULL: nullability of a query's result changes with its sources, and Spark
    drops it on every write anyway.
    """
    schema = json.loads(schema_json)
    return json.dumps({"type": "struct", "fields": [_relaxed_field(field) for field in schema["fields"]]})


def same_columns(one: str, other: str) -> bool:
    """True if two schemas hold the same columns and types in the same order, nullability and metadata aside."""
    return bool(json.loads(nullable(one)) == json.loads(nullable(other)))


def arrow_schema(schema_json: str) -> pa.Schema:
    """The Arrow form in which rows of this table are written."""
    return pa.schema([pa.field(name, arrow_type(delta_type)) for name, delta_type in fields_of(schema_json).items()])


def arrow_type(delta_type: Any) -> pa.DataType:
    """The Arrow type of one Delta type."""
    if isinstance(delta_type, dict):
        match delta_type["type"]:
            case "struct":
                return pa.struct([pa.field(f["name"], arrow_type(f["type"])) for f in delta_type["fields"]])
            case "array":
                return pa.list_(pa.field("element", arrow_type(delta_type["elementType"])))
            case "map":
                return pa.map_(arrow_type(delta_type["keyType"]), arrow_type(delta_type["valueType"]))
    decimal = decimal_of(delta_type)
    if decimal:
        return pa.decimal128(*decimal)
    if isinstance(delta_type, str) and delta_type in _PLAIN:
        return _PLAIN[delta_type]
    raise InternalError(why=f"no Arrow form is known for the column type {delta_type!r}")


def conform(rows: pa.Table, target: pa.Schema) -> pa.Table:
    """`rows` with exactly the columns, order and types of `target`; InternalError unless that is lossless."""
    if sorted(rows.column_names) != sorted(target.names):
        raise InternalError(why=f"rows have the columns {rows.column_names}, the table has {target.names}")
    for field in target:
        given = rows.schema.field(field.name).type
        if not _lossless(given, field.type):
            raise InternalError(why=f"column {field.name} comes as {given}, the table holds {field.type}")
    rows = rows.select(target.names)
    if rows.schema.equals(target, check_metadata=True):
        return rows
    try:
        return rows.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as refused:
        raise InternalError(why=f"rows cannot be brought to the table's types: {refused}") from refused


def _lossless(given: pa.DataType, wanted: pa.DataType) -> bool:
    types = pa.types
    if given.equals(wanted) or types.is_null(given):
        return True
    if types.is_dictionary(given):
        return _lossless(given.value_type, wanted)
    if types.is_string(wanted):
        return bool(types.is_large_string(given) or types.is_string_view(given))
    if types.is_binary(wanted):
        return bool(types.is_large_binary(given) or types.is_binary_view(given) or types.is_fixed_size_binary(given))
    if types.is_timestamp(wanted):
        # The safe cast refuses nanoseconds that are not whole microseconds; an instant must stay an instant.
        return types.is_timestamp(given) and (given.tz is None) == (wanted.tz is None)
    if types.is_struct(wanted):
        return (
            types.is_struct(given)
            and [part.name for part in given] == [part.name for part in wanted]
            and all(_lossless(one.type, two.type) for one, two in zip(given, wanted, strict=True))
        )
    if types.is_list(wanted):
        return (types.is_list(given) or types.is_large_list(given)) and _lossless(given.value_type, wanted.value_type)
    if types.is_map(wanted):
        return (
            types.is_map(given)
            and _lossless(given.key_type, wanted.key_type)
            and _lossless(given.item_type, wanted.item_type)
        )
    return False


def _relaxed_field(field: dict[str, Any]) -> dict[str, Any]:
    return {"name": field["name"], "type": _relaxed(field["type"]), "nullable": True, "metadata": {}}


def _relaxed(delta_type: Any) -> Any:
    if not isinstance(delta_type, dict):
        return delta_type
    match delta_type["type"]:
        case "struct":
            return {"type": "struct", "fields": [_relaxed_field(field) for field in delta_type["fields"]]}
        case "array":
            return {"type": "array", "elementType": _relaxed(delta_type["elementType"]), "containsNull": True}
        case "map":
            return {
                "type": "map",
                "keyType": _relaxed(delta_type["keyType"]),
                "valueType": _relaxed(delta_type["valueType"]),
                "valueContainsNull": True,
            }
    return delta_type
