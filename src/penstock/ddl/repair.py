"""Rebuilding the catalog from the tables themselves.

A stream table's storage holds its definition in its properties and its frontier in its newest commit; plain tables are
the Delta folders of the warehouse. Nothing else is needed to go on, and nothing of it is guessed: of two storages of
one name, the one that was created later is the stream table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.catalog.model import KnownKind, KnownTable, RefreshMode, Status, StreamTableMeta
from penstock.catalog.warehouse_folder import STORAGE_FOLDER, TABLES_FOLDER, lost_stream_tables
from penstock.ddl.names_of_others import refuse_names_of_others, stream_table
from penstock.engine.delta.definition import Definition
from penstock.engine.failures.spark_message import parted
from penstock.engine.spark.registry import MANAGED, restore, restore_view, schema_exists
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import storage_state
from penstock.errors import PenstockError
from penstock.names import TableName
from penstock.refresh.define import dependencies_of
from penstock.refresh.keep_names import keep_names
from penstock.refresh.warehouse import Warehouse

GONE: Final = (
    "the history of refreshes, and totals",
    "alerts",
    "durable subscriptions, and the positions of all changes",
    "suspensions, counted errors, and the pause",
    "views, plain tables outside of tables/, and those that are not Delta, unless Spark's own catalog keeps them",
)
"""What a catalog that is begun anew cannot learn from the tables."""

_Found = tuple[str, Storage, Definition]
"""A stream table's storage, with its folder and the definition in it."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What was found and put back."""

    lines: tuple[str, ...]
    gone: tuple[str, ...] = ()
    """What was in the catalog alone, if there was none to go on with."""
    kept: Path | None = None
    """Where the broken catalog lies now, if it was one."""
    missing: tuple[str, ...] = ()
    """Stream tables that could not be put back; the lines say why."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        kept = None if self.kept is None else str(self.kept)
        return {"lines": self.lines, "gone": self.gone, "kept": kept, "missing": self.missing}


def rebuild(warehouse: Warehouse) -> RepairReport:
    """Put every stream table and plain table that the catalog lacks back into it."""
    begun_anew, knew_names = warehouse.catalog.dag_version() == 0, bool(warehouse.catalog.known_tables())
    found, unreadable = _found(warehouse)
    plain, (waiting, left_over) = _plain_tables(warehouse), _newest(found, warehouse.catalog.get_all())
    if plain or waiting:
        ours = (stream_table(TableName.parse(definition.name), path) for path, _, definition in waiting)
        refuse_names_of_others(warehouse.spark, warehouse.root, [*plain, *ours])
    _register(warehouse, plain)
    lines = [f"plain table {table.name}: registered" for table in plain]
    lines += [f"folder {path}: left alone, {name} was created again later" for path, name in left_over]
    gone = GONE if begun_anew and (waiting or (plain and not knew_names)) else ()
    _make_schemas(warehouse, (definition for _, _, definition in waiting))
    # An upstream must be known before its consumers can be bound.
    while waiting:
        left = []
        for path, storage, definition in waiting:
            try:
                lines.append(_restored(warehouse, path, storage, definition))
            except PenstockError as error:
                left.append((path, storage, definition, error))
        if len(left) == len(waiting):
            # Of Spark's message the first sentence: the others are about its search path.
            lines += [f"stream table {each[2].name}: could not be restored: {parted(each[3].text)[0]}" for each in left]
            lines.append("make what they read again, then repair once more")
            break
        waiting = [(path, storage, definition) for path, storage, definition, _ in left]
    lines += [f"the name {name} was taken by others: restored" for name in keep_names(warehouse)]
    lines += [f"folder {path}: cannot be read as a stream table: {why}" for path, why in unreadable]
    missing = [str(name) for name in lost_stream_tables(warehouse.root, warehouse.catalog.get_all())]
    closed = warehouse.catalog.close_orphans(now=warehouse.catalog.now())
    lines += [f"refresh {refresh}: closed, its worker is gone" for refresh in closed]
    return RepairReport(tuple(lines) or ("nothing to repair",), gone, missing=tuple(missing))


def _found(warehouse: Warehouse) -> tuple[list[_Found], list[tuple[str, str]]]:
    """The storages that the catalog does not know, and the folders that cannot be read as one, each with the reason."""
    known = {each.table_id for each in warehouse.catalog.get_all()}
    folders = {Path(each.path).name for each in warehouse.catalog.get_all()}
    found, unreadable = [], []
    for log in sorted((warehouse.root / STORAGE_FOLDER).glob("*/*/_delta_log")):
        path = str(log.parent.resolve())
        try:
            storage = Storage.open(path)
            definition = Definition.from_json(storage_state(warehouse.logs.at(storage.path)).definition)
        except (PenstockError, KeyError, ValueError) as error:
            if log.parent.name not in folders:
                why = error.text if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
                unreadable.append((path, parted(why)[0]))
            continue
        if storage.table_id not in known:
            found.append((path, storage, definition))
    return found, unreadable


def _newest(found: Iterable[_Found], known: Iterable[StreamTableMeta]) -> tuple[list[_Found], list[tuple[str, str]]]:
    """The storages to restore, one for each name, and the folders that a killed CREATE or DROP has left behind."""
    names = {str(each.name) for each in known}
    by_name: dict[str, list[_Found]] = {}
    for each in found:
        by_name.setdefault(each[2].name, []).append(each)
    waiting: list[_Found] = []
    left_over: list[tuple[str, str]] = []
    for name, held in by_name.items():
        *older, newest = sorted(held, key=lambda one: one[2].created_at)
        # The catalog knows which it is, if it knows the name.
        (older if name in names else waiting).append(newest)
        left_over += [(path, name) for path, _, _ in older]
    return waiting, left_over


def _make_schemas(warehouse: Warehouse, definitions: Iterable[Definition]) -> None:
    """The schemas of stream tables, which need not hold any plain table."""
    for definition in definitions:
        for schema in (TableName.parse(definition.name).schema, definition.database):
            if not schema_exists(warehouse.spark, schema):
                warehouse.catalog.remember_table(KnownTable(schema=schema, kind=KnownKind.SCHEMA))
                restore(warehouse.spark, warehouse.catalog.known_tables())


def _restored(warehouse: Warehouse, path: str, storage: Storage, definition: Definition) -> str:
    workspace = warehouse.fresh_workspace(definition.settings, definition.database, definition.reads)
    bound = workspace.bind(definition.query)
    pin = storage.pin()
    record = pin.record
    warehouse.catalog.insert(
        StreamTableMeta(
            name=TableName.parse(definition.name),
            table_id=storage.table_id,
            path=path,
            query=definition.query,
            definition_hash=definition.hash,
            database=definition.database,
            settings=definition.settings,
            target_lag=definition.target_lag,
            refresh_mode=RefreshMode(definition.refresh_mode),
            key=definition.key,
            status=Status.ACTIVE if record else Status.INITIALIZING,
            is_populated=record is not None,
            data_timestamp=record.data_timestamp if record else None,
            frontier=record.frontier if record else None,
            frontier_version=pin.record_version,
            last_lsn=record.last_lsn if record else None,
        ),
        dependencies_of(bound),
        now=warehouse.now(),
    )
    # Where others have put something under its name, that is looked after when all are back.
    restore_view(warehouse.spark, definition, path)
    at = f"at version {pin.record_version}" if record else "never filled"
    return f"stream table {definition.name}: restored, {at}"


def _plain_tables(warehouse: Warehouse) -> list[KnownTable]:
    """The Delta tables that lie where Spark puts tables whose files are its own, and that the catalog lacks."""
    known = {each.name for each in warehouse.catalog.known_tables()}
    found = []
    for log in sorted((warehouse.root / TABLES_FOLDER).glob("**/_delta_log")):
        relative = log.parent.relative_to(warehouse.root / TABLES_FOLDER)
        schema = relative.parts[0].removesuffix(".db") if len(relative.parts) > 1 else "default"
        if len(relative.parts) > 2 or f"{schema}.{relative.parts[-1]}" in known:
            continue
        found.append(
            KnownTable(
                schema=schema,
                table=relative.parts[-1],
                kind=KnownKind.TABLE,
                path=str(Path(log.parent).resolve()),
                provider="delta",
                text=MANAGED,
            )
        )
    return found


def _register(warehouse: Warehouse, tables: Iterable[KnownTable]) -> None:
    for table in tables:
        if table.schema != "default":
            warehouse.catalog.remember_table(KnownTable(schema=table.schema, kind=KnownKind.SCHEMA))
        warehouse.catalog.remember_table(table)
    restore(warehouse.spark, warehouse.catalog.known_tables())
