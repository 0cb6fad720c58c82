"""When a list of Parquet files *is* the table: an allow-list, never a deny-list.

Every feature, type and field property named here has been read both ways, through Delta's own reader and as plain
Parquet with an explicit schema, and gave the same rows (`tests/integration/spark/test_intervals.py`). Whatever is not
named here goes through Delta's reader: slower, same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

READABLE = frozenset(
    {
        "appendOnly",
        "invariants",
        "checkConstraints",
        "changeDataFeed",
        "generatedColumns",
        "identityColumns",
        "allowColumnDefaults",
        "timestampNtz",
        "domainMetadata",
        "clustering",
        "rowTracking",
        "inCommitTimestamp",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "checkpointProtection",
        # The next three only while they leave no trace: no file with a vector, mode `none`, no retyped field.
        "deletionVectors",
        "columnMapping",
        "typeWidening",
        # Columns of that type are refused below; delta-rs adds the feature without there being any.
        "variantType",
    }
)
"""Features under which the rows are still exactly those of the Parquet files."""

_SCALARS = (
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    TimestampNTZType,
    TimestampType,
)

# What a field may carry besides its type: all of it concerns writing only.
_FIELD_METADATA = frozenset(
    {
        "comment",
        "CURRENT_DEFAULT",
        "EXISTS_DEFAULT",
        "delta.generationExpression",
        "delta.identity.start",
        "delta.identity.step",
        "delta.identity.highWaterMark",
        "delta.identity.allowExplicitInsert",
        "delta.invariants",
    }
)


@dataclass(frozen=True, slots=True)
class Protocol:
    """A `protocol` action."""

    reader: int
    writer: int
    listed: frozenset[str]

    @property
    def features(self) -> frozenset[str]:
        """The features in force, also those that an old protocol number implies.

        >>> sorted(Protocol(1, 4, frozenset()).features)
        ['appendOnly', 'changeDataFeed', 'checkConstraints', 'generatedColumns', 'invariants']
        """
        implied = [feature for version, feature in _BY_WRITER if version <= self.writer < 7]
        return self.listed.union(implied, ["columnMapping"] if self.reader == 2 else [])


_BY_WRITER = (
    (2, "appendOnly"),
    (2, "invariants"),
    (3, "checkConstraints"),
    (4, "changeDataFeed"),
    (4, "generatedColumns"),
    (5, "columnMapping"),
    (6, "identityColumns"),
)


def refusal(protocol: Protocol, schema: StructType, properties: Mapping[str, str]) -> str:
    """Why plain Parquet reads would not be exact under this protocol and schema; empty if they are."""
    if protocol.reader > 3 or protocol.writer > 7:
        return f"protocol ({protocol.reader}, {protocol.writer}) is newer than this Penstock"
    if unknown := protocol.features - READABLE:
        return f"table feature {', '.join(sorted(unknown))}"
    if properties.get("delta.columnMapping.mode", "none").lower() != "none":
        return "column mapping"
    for column in schema.fields:
        if why := _field_refusal(column):
            return f"column {column.name}: {why}"
    return ""


def _field_refusal(column: StructField) -> str:
    if odd := set(column.metadata) - _FIELD_METADATA:
        return ", ".join(sorted(odd))
    return _type_refusal(column.dataType)


def _type_refusal(kind: DataType) -> str:
    match kind:
        case StructType():
            return next(filter(None, map(_field_refusal, kind.fields)), "")
        case ArrayType():
            return _type_refusal(kind.elementType)
        case MapType():
            return _type_refusal(kind.keyType) or _type_refusal(kind.valueType)
        # Exactly StringType: CHAR, VARCHAR and collated strings are its kin but read otherwise.
        case StringType() if type(kind) is StringType and kind.simpleString() == "string":
            return ""
        case _ if isinstance(kind, _SCALARS):
            return ""
    return f"type {kind.simpleString()}"
