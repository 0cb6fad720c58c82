"""A statement for Spark that would take a stream table's name or storage away, or a source from its readers.

    a stream table's name or storage    refused, with the statement to use instead
    a source, or a view, that is read   refused, unless the caller confirms it

What a statement acts on is Spark's own reading of it (`engine.spark.statement_effects`). Any statement may write rows
of a source and lay out its files: stream tables follow that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import commonpath
from typing import Final

from penstock.catalog.model import SourceType, StreamTableMeta
from penstock.engine.spark.registry import (
    current_catalog,
    current_schema,
    has_temporary_view,
    is_managed,
    kind_of,
    read_by_view,
    table_path,
)
from penstock.engine.spark.statement_effects import Effect, Target, read_targets
from penstock.errors import HasReaders, IsStreamTable, PenstockError, SchemaHoldsStreamTables
from penstock.graph.dag import StreamGraph
from penstock.graph.order import order_refreshes, without_circles
from penstock.lang.statements import PassThrough
from penstock.layout.retention import place
from penstock.names import TableName
from penstock.places import is_written_out
from penstock.refresh.warehouse import Warehouse

_CATALOG: Final = "spark_catalog"
_SHOWN: Final = 80
"""Characters of a statement that an error repeats."""

_TAKES_AWAY: Final = frozenset({Effect.DROP, Effect.REPLACE, Effect.RENAME, Effect.MOVE})

_FIXES: Final = {
    Effect.CREATE: "Choose another name, or give the stream table another query: "
    "CREATE OR REPLACE STREAM TABLE {name} AS …",
    Effect.REPLACE: "Write: CREATE OR REPLACE STREAM TABLE {name} AS …",
    Effect.DROP: "Write: DROP STREAM TABLE {name}",
    Effect.RENAME: "Create it under the other name, then drop this one: CREATE STREAM TABLE … AS …; "
    "DROP STREAM TABLE {name}",
    Effect.MOVE: "Its storage stays in the warehouse, where it is.",
    Effect.WRITE: "Its rows follow from its query: change its sources and write REFRESH STREAM TABLE {name}, or change "
    "the query: ALTER STREAM TABLE {name} AS …",
    Effect.ALTER: "Write: ALTER STREAM TABLE {name} AS …, or ALTER STREAM TABLE {name} SET …",
    Effect.CACHE: "Cached rows would be shown even after another process has refreshed. Keep a copy under another "
    "name: CACHE TABLE … AS SELECT * FROM {name}",
    Effect.LAY_OUT: "Write: OPTIMIZE STREAM TABLE {name}. To vacuum it, name its storage: VACUUM delta.`{path}`",
}


@dataclass(frozen=True, slots=True)
class _Place:
    """What a target stands for: a name, a folder, or a name with the folder of the table whose files are worked on."""

    name: TableName | None = None
    folder: str | None = None
    whole_folder: bool = False
    """Whatever lies in the folder is written over, not the one table there."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A table or view that a stream table reads."""

    name: TableName | None
    """None for a folder that the query names."""
    path: str | None
    reader: str


def guard_names(warehouse: Warehouse, statement: PassThrough, yes: bool) -> None:
    """IsStreamTable and SchemaHoldsStreamTables for what is always refused; HasReaders unless the caller said `yes`."""
    tables = warehouse.catalog.get_all()
    if not tables:
        return
    said = _short(statement.sql)
    for target in read_targets(warehouse.spark, statement.sql):
        if target.is_schema:
            _guard_schema(warehouse, target, tables, said, yes)
            continue
        where = _where(warehouse, target)
        if where is not None:
            _guard_stream_tables(warehouse, target, where, tables, said)
            if not yes and (target.effect in _TAKES_AWAY or where.whole_folder):
                _guard_sources(warehouse, target, where, said)


def _guard_stream_tables(
    warehouse: Warehouse, target: Target, where: _Place, tables: Iterable[StreamTableMeta], said: str
) -> None:
    for meta in tables:
        named = where.name == meta.name
        # A user's table that has taken the name may be moved out of the way.
        if named and target.effect in _TAKES_AWAY and kind_of(warehouse.spark, meta.name) == "table":
            continue
        if named or (target.effect is not Effect.LAY_OUT and _reaches(where, place(meta.path))):
            raise IsStreamTable(
                name=meta.name,
                what="a stream table" if named else "the stream table whose storage that is",
                statement=said,
                fix=_FIXES[target.effect].format(name=meta.name, path=meta.path),
            )


def _guard_schema(
    warehouse: Warehouse, target: Target, tables: Sequence[StreamTableMeta], said: str, yes: bool
) -> None:
    *catalog, schema = (part.lower() for part in target.parts)
    if catalog not in ([], [_CATALOG]):
        return
    held = {meta.table_id: str(meta.name) for meta in tables if meta.name.schema == schema}
    if held:
        graph = without_circles(StreamGraph.build(tables, warehouse.catalog.all_dependencies()))
        drops = "; ".join(f"DROP STREAM TABLE {node.name}" for node in reversed(order_refreshes(graph, held)))
        raise SchemaHoldsStreamTables(schema=schema, names=", ".join(held.values()), statement=said, drops=drops)
    read = [each for each in _reads(warehouse) if each.name is not None and each.name.schema == schema]
    if read and not yes:
        raise _refusal(said, read)


def _guard_sources(warehouse: Warehouse, target: Target, where: _Place, said: str) -> None:
    name = where.name
    kind = None if name is None else kind_of(warehouse.spark, name)
    # A view that is redefined is read anew; nothing is lost with it.
    if name is not None and (kind is None or (kind == "view" and target.effect is Effect.REPLACE)):
        return
    read = [
        each
        for each in _reads(warehouse)
        if (name is not None and each.name == name) or (each.path is not None and _reaches(where, place(each.path)))
    ]
    if read:
        raise _refusal(said, read)


def _reads(warehouse: Warehouse) -> Iterator[_Read]:
    """What the catalog keeps of all queries, and the names in their texts and in those of the views that they read: of
    plain files the catalog keeps nothing.
    """
    tables = {meta.id: meta for meta in warehouse.catalog.get_all()}
    for each in warehouse.catalog.all_dependencies():
        if each.source_type is SourceType.STREAM_TABLE or each.stream_table_id not in tables:
            continue
        reader = str(tables[each.stream_table_id].name)
        name = None if is_written_out(each.source_name) else _named(each.source_name.split("."))
        yield _Read(name, each.source_path, reader)
        if each.source_type is SourceType.VIEW and name is not None:
            # A view below another is a dependency of its own.
            yield from (_Read(_named(parts), None, reader) for parts in read_by_view(warehouse.spark, name))
    for meta in tables.values():
        try:
            names = [TableName.parse(name, meta.database) for name in warehouse.definition(meta).reads]
        except (PenstockError, KeyError, ValueError):
            # Its storage is away, or one of its names is in another catalog.
            continue
        yield from (_Read(name, None, str(meta.name)) for name in names)


def _named(parts: Sequence[str]) -> TableName:
    """A name as Spark's catalog has it, with or without the catalog in front."""
    *_, schema, table = ("", *(part.lower() for part in parts))
    return TableName(schema, table)


def _refusal(said: str, read: Iterable[_Read]) -> HasReaders:
    sources, readers = {str(each.name or place(each.path or "")) for each in read}, {each.reader for each in read}
    return HasReaders(statement=said, sources=", ".join(sorted(sources)), readers=", ".join(sorted(readers)))


def _where(warehouse: Warehouse, target: Target) -> _Place | None:
    """The place of a target; None if it is in another catalog than the warehouse, or a temporary view."""
    spark = warehouse.spark
    if target.folder is not None:
        return _Place(folder=place(target.folder), whole_folder=target.effect is Effect.WRITE)
    if not target.parts:
        return None
    if len(target.parts) > 1 and ("/" in target.parts[-1]):
        return _Place(folder=place(target.parts[-1]))
    *before, table = (part.lower() for part in target.parts)
    if not before and target.effect is not Effect.CREATE and has_temporary_view(spark, table):
        return None
    if target.beside and not before:
        before = [part.lower() for part in target.beside[:-1]]
    catalog, schema = before if len(before) == 2 else ("", *before) if before else ("", current_schema(spark))
    if (catalog or current_catalog(spark)) != _CATALOG:
        return None
    name = TableName(schema, table)
    path = table_path(spark, name) if _works_on_files(warehouse, target.effect, name) else None
    return _Place(name, None if path is None else place(path))


def _works_on_files(warehouse: Warehouse, effect: Effect, name: TableName) -> bool:
    """True if the files of the table change; False if only the name comes, goes or moves."""
    if effect in {Effect.DROP, Effect.RENAME}:
        return is_managed(warehouse.spark, name)
    return effect in {Effect.REPLACE, Effect.WRITE, Effect.ALTER}


def _reaches(where: _Place, folder: str) -> bool:
    """True if a change of the place changes the folder, something in it, or all of what it lies in."""
    if where.folder is None:
        return False
    shared = commonpath([where.folder, folder]) if where.folder.startswith("/") and folder.startswith("/") else ""
    if where.folder == folder or shared == folder:
        return True
    return where.whole_folder and shared == where.folder


def _short(statement: str) -> str:
    line = " ".join(statement.split()).rstrip(";")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
