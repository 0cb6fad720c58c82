"""How a table's columns differ between two versions, and whether that touches the columns a query uses.

Columns are the same if their names in the files are, which column mapping keeps apart from those in the schema; where
there is no mapping, the two are one (without regard to case, as Spark resolves them). The same holds for the fields
inside a column. The order of columns, comments and properties do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

_PHYSICAL = "delta.columnMapping.physicalName"


@dataclass(frozen=True, slots=True)
class SchemaDrift:
    """What happened to a table's columns over an interval; false if nothing did."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Old name → new name."""
    retyped: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Name → (old type, new type)."""
    loosened: tuple[str, ...] = ()
    """Columns that were NOT NULL and may now hold NULL."""
    recreated: bool = False
    """The table was dropped and another one created in its place: there is no common history."""
    replaced: bool = False
    """CREATE OR REPLACE within one history: new table id, but both ends can be read and compared."""
    detour: bool = False
    """Some version in between had columns that neither end explains: only the two ends can be compared."""

    def __bool__(self) -> bool:
        return self != SchemaDrift()

    @property
    def additive(self) -> bool:
        """True if every file of the interval can be read with the columns of `after`."""
        return not (self.dropped or self.renamed or self.retyped or self.recreated or self.replaced or self.detour)


def schema_drift(before: StructType, after: StructType) -> SchemaDrift:
    """The difference of two schemas of one table."""
    # Files from before a mapping have the names of then; where a mapping was taken away, all were written anew.
    mapped = any(_PHYSICAL in column.metadata for column in after.fields)
    old = {_identity(column, mapped): column for column in before.fields}
    new = {_identity(column, mapped): column for column in after.fields}
    shared = [(old[identity], new[identity]) for identity in old if identity in new]
    return SchemaDrift(
        added=tuple(column.name for identity, column in new.items() if identity not in old),
        dropped=tuple(column.name for identity, column in old.items() if identity not in new),
        renamed={was.name: now.name for was, now in shared if was.name.lower() != now.name.lower()},
        retyped={
            was.name: (was.dataType.simpleString(), _described(was.dataType, now.dataType))
            for was, now in shared
            if not _same(was.dataType, now.dataType, mapped)
        },
        loosened=tuple(now.name for was, now in shared if now.nullable and not was.nullable),
    )


def drift_affects(drift: SchemaDrift, columns_used: Iterable[str]) -> str | None:
    """Why a query over these columns cannot go on across this drift; None if it can.

    >>> drift_affects(SchemaDrift(dropped=("a",)), ["A", "b"])
    'column a was dropped'
    >>> drift_affects(SchemaDrift(dropped=("a",), added=("c",)), ["b"]) is None
    True
    """
    used = {name.lower() for name in columns_used}
    if drift.recreated:
        return "the table was dropped and created again"
    for was, now in drift.renamed.items():
        if was.lower() in used or now.lower() in used:
            return f"column {was} was renamed to {now}"
    for name in drift.dropped:
        if name.lower() in used:
            again = name.lower() in {added.lower() for added in drift.added}
            return f"column {name} was dropped" + (" and another one added under that name" if again else "")
    for name, (old, new) in drift.retyped.items():
        if name.lower() in used:
            return f"column {name} was {old} and is now {new}"
    for name in drift.loosened:
        if name.lower() in used:
            return f"column {name} is no longer NOT NULL"
    return None


def bare(kind: DataType) -> DataType:
    """The type alone: nested field metadata dropped, everything nullable."""
    match kind:
        case StructType():
            return StructType([StructField(part.name, bare(part.dataType), True) for part in kind.fields])
        case ArrayType():
            return ArrayType(bare(kind.elementType), True)
        case MapType():
            return MapType(bare(kind.keyType), bare(kind.valueType), True)
    return kind


def _identity(column: StructField, mapped: bool) -> str:
    return str(column.metadata.get(_PHYSICAL, column.name) if mapped else column.name).lower()


def _same(was: DataType, now: DataType, mapped: bool) -> bool:
    """True if the types are the same, and the fields inside are those that had these names before."""
    match was, now:
        case StructType(), StructType():
            return was.names == now.names and all(
                (not mapped or _identity(one, mapped) == _identity(two, mapped))
                and _same(one.dataType, two.dataType, mapped)
                for one, two in zip(was.fields, now.fields, strict=True)
            )
        case ArrayType(), ArrayType():
            return _same(was.elementType, now.elementType, mapped)
        case MapType(), MapType():
            return _same(was.keyType, now.keyType, mapped) and _same(was.valueType, now.valueType, mapped)
    return was == now


def _described(was: DataType, now: DataType) -> str:
    text = now.simpleString()
    return f"{text} with another field of an old name" if text == was.simpleString() else text
