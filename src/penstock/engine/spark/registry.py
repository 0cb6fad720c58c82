"""What Spark's own catalog must know: plain tables and views, and one view per stream table.

Spark's default catalog lives in memory and forgets everything with its process, so Penstock's catalog remembers it and
registers it again. A stream table's name is a view of its storage: the user's columns under the user's names, hidden
groups left out, rows repeated by weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.catalog.model import KnownKind, KnownTable
from penstock.compile.stored import SHOWN
from penstock.engine.delta.definition import Definition
from penstock.engine.spark.columns_as_defined import names_read
from penstock.engine.spark.held_names import MARK, folder_of_view, held_under, marked
from penstock.engine.spark.jvm import external_catalog, java
from penstock.engine.spark.register_without_reading import (
    changed,
    register_delta_table,
    register_schema,
)
from penstock.engine.spark.result_settings import is_result_setting
from penstock.engine.spark.threads import active
from penstock.errors import PenstockError
from penstock.names import WEIGHT, TableName, quote

_SET = "SET "

MANAGED = "MANAGED"
"""The note beside a table whose files are deleted when it is dropped."""


def is_forgetful(spark: SparkSession) -> bool:
    """True if the session's catalog does not outlive its process."""
    return str(spark.conf.get("spark.sql.catalogImplementation")) == "in-memory"


def current_schema(spark: SparkSession) -> str:
    """The current database."""
    # The first question makes Spark load Delta's catalog, which stays with the session that is active then.
    with active(spark):
        return str(spark.catalog.currentDatabase())


def current_catalog(spark: SparkSession) -> str:
    """The current catalog."""
    with active(spark):
        return str(spark.catalog.currentCatalog())


def has_temporary_view(spark: SparkSession, name: str) -> bool:
    """True if the session has a temporary view of that name, which then stands before any table."""
    return bool(spark._jsparkSession.sessionState().catalog().getTempView(name).isDefined())


def is_managed(spark: SparkSession, name: TableName) -> bool:
    """True if there is such a table, and its files are deleted when it is dropped."""
    if kind_of(spark, name) != "table":
        return False
    return str(external_catalog(spark).getTable(name.schema, name.table).tableType().name()) == MANAGED


def schema_exists(spark: SparkSession, schema: str) -> bool:
    """True if the database exists."""
    return bool(external_catalog(spark).databaseExists(schema))


def kind_of(spark: SparkSession, name: TableName) -> str | None:
    """'table' or 'view' if the name is taken in Spark's catalog."""
    external = external_catalog(spark)
    if not external.databaseExists(name.schema) or not external.tableExists(name.schema, name.table):
        return None
    return "view" if external.getTable(name.schema, name.table).tableType().name() == "VIEW" else "table"


def table_path(spark: SparkSession, name: TableName) -> str | None:
    """Where a table's files are, or None if there is no such table."""
    if kind_of(spark, name) != "table":
        return None
    return _location(spark, external_catalog(spark).getTable(name.schema, name.table))


def places_of(spark: SparkSession, names: Iterable[KnownTable]) -> Iterator[tuple[KnownTable, str]]:
    """Those of the names that Spark's catalog holds, with the folder that each stands for there: of a schema the one
    of its tables, of a stream table's view that of its rows. Other views stand for no folder.
    """
    external = external_catalog(spark)
    tables: dict[str, set[str]] = {}
    for each in names:
        if each.schema not in tables:
            exists = external.databaseExists(each.schema)
            # One question for a schema, and not one for every table.
            tables[each.schema] = set(_strings(external.listTables(each.schema))) if exists else set()
            if exists:
                whole = KnownTable(schema=each.schema, kind=KnownKind.SCHEMA)
                yield whole, _written(spark, external.getDatabase(each.schema).locationUri())
        if each.table in tables[each.schema]:
            name = TableName(each.schema, each.table)
            held = held_under(spark, name)
            place = folder_of_view(held) if held is not None and held.is_view else table_path(spark, name)
            if place is not None:
                yield each, place


def _location(spark: SparkSession, held: Any) -> str | None:
    location = held.storage().locationUri()
    return _written(spark, location.get()) if location.isDefined() else None


def _written(spark: SparkSession, location: Any) -> str:
    """A place as people and Delta write it: in Spark's catalog a space is `%20`."""
    return str(java(spark).org.apache.spark.sql.catalyst.catalog.CatalogUtils.URIToString(location))


def shared_path(spark: SparkSession, table: str) -> str | None:
    """Where a table's files are by a catalog that outlives its process; None too if it cannot say that now."""
    try:
        return None if is_forgetful(spark) else table_path(spark, TableName.parse(table))
    except (PenstockError, Py4JError):
        return None


def view_text(spark: SparkSession, view: str) -> str | None:
    """What a permanent view (`catalog.schema.view`) means, or None if there is none."""
    *_, schema, table = view.split(".")
    external = external_catalog(spark)
    if not external.databaseExists(schema) or not external.tableExists(schema, table):
        return None
    held = external.getTable(schema, table)
    return view_statements(held) if held.viewText().isDefined() else None


def read_by_view(spark: SparkSession, view: TableName) -> list[tuple[str, ...]]:
    """The names that a permanent view's own text reads, in their parts, each with a schema; none if there is no such
    view.
    """
    if kind_of(spark, view) != "view":
        return []
    held = external_catalog(spark).getTable(view.schema, view.table)
    home = _strings(held.viewCatalogAndNamespace()) or [view.schema]
    return [(*home, *parts) if len(parts) == 1 else parts for parts in names_read(spark, str(held.viewText().get()))]


def view_statements(held: Any) -> str:
    """The statements that make a view again: its text means nothing without its columns, and the schema and settings it
    was written in, which Spark keeps with it.
    """
    schema = str(held.identifier().database().get())
    namespace = held.viewCatalogAndNamespace()
    home = str(namespace.apply(namespace.size() - 1)) if namespace.size() else schema
    columns = ", ".join(quote(str(held.schema().apply(index).name())) for index in range(held.schema().size()))
    identifier = f"{quote(schema)}.{quote(str(held.identifier().table()))}"
    settings = "".join(f"{_SET}{name}={value};\n" for name, value in _view_settings(held))
    return f"{settings}USE {quote(home)};\nCREATE OR REPLACE VIEW {identifier} ({columns}) AS {held.viewText().get()}"


def _view_settings(held: Any) -> list[tuple[str, str]]:
    """Those of the settings kept with a view that a result can depend on."""
    kept = (line.partition(" -> ") for line in str(held.viewSQLConfigs().mkString("\n")).splitlines())
    return sorted((name, value) for name, _, value in kept if is_result_setting(name))


def view_query(definition: Definition, storage: str) -> str:
    """What a user sees of the storage, which is given as SQL."""
    columns = ", ".join(
        quote(stored) if stored == visible else f"{quote(stored)} AS {quote(visible)}"
        for visible, stored, _ in definition.columns
    )
    text = f"SELECT {columns} FROM {storage}"
    if definition.weighted:
        text += f" LATERAL VIEW explode(array_repeat(0, CAST({quote(WEIGHT)} AS INT))) `__ps_copies` AS `__ps_copy`"
    return text + (f" WHERE {quote(SHOWN)}" if definition.has_hidden_rows else "")


def view_text_of(definition: Definition, path: str) -> str:
    """The text of the stream table's view."""
    return view_query(definition, f"delta.{quote(path)}")


def register_view(spark: SparkSession, definition: Definition, path: str) -> None:
    """Create or replace the stream table's view."""
    name, text = TableName.parse(definition.name), view_text_of(definition, path)
    spark.sql(f"CREATE OR REPLACE VIEW {name.sql} {marked(text)} AS {text}")


def stored_rows_at(spark: SparkSession, definition: Definition, path: str, version: int) -> DataFrame:
    """What a user sees of the storage at a version, in the user's own session."""
    return spark.sql(view_query(definition, f"delta.{quote(path)} VERSION AS OF {version}"))


def restore_view(spark: SparkSession, definition: Definition, path: str) -> bool:
    """Create the stream table's view if its storage can be read and has the columns; False if not."""
    try:
        register_view(spark, definition, path)
    except (PySparkException, Py4JError):
        return False
    return True


def forget_cached(spark: SparkSession, name: TableName) -> None:
    """Have Spark read anew what it caches of a stream table: it does not notice the commits of delta-rs."""
    if not spark._jsparkSession.sharedState().cacheManager().isEmpty():
        spark.catalog.refreshTable(name.sql)


def drop_view(spark: SparkSession, name: TableName) -> None:
    """Drop the stream table's view, if it is there; a table in its place belongs to a user, and stays."""
    if kind_of(spark, name) == "view":
        spark.sql(f"DROP VIEW {name.sql}")


def registered(spark: SparkSession) -> list[KnownTable]:
    """Every schema, table and view in Spark's catalog but those of stream tables; no job, no file is read."""
    external = external_catalog(spark)
    found: list[KnownTable] = []
    for schema in _strings(external.listDatabases()):
        if schema != "default":
            found.append(KnownTable(schema=schema, kind=KnownKind.SCHEMA))
        for table in _strings(external.listTables(schema)):
            held = external.getTable(schema, table)
            if held.tableType().name() == "VIEW":
                if held.properties().get(MARK).isDefined():
                    # A stream table's, of this warehouse or of another.
                    continue
                found.append(KnownTable(schema=schema, table=table, kind=KnownKind.VIEW, text=view_statements(held)))
            elif (path := _location(spark, held)) is not None:
                provider = held.provider()
                found.append(
                    KnownTable(
                        schema=schema,
                        table=table,
                        kind=KnownKind.TABLE,
                        path=path,
                        provider=str(provider.get()) if provider.isDefined() else "delta",
                        text=MANAGED if held.tableType().name() == MANAGED else None,
                    )
                )
    return found


def restore(spark: SparkSession, known: Iterable[KnownTable]) -> list[str]:
    """Register remembered schemas, tables and views; returns the names of those that could not be.

    No file is written: what is away for the moment must find its place as it left it.
    """
    waiting = sorted(known, key=lambda each: [KnownKind.SCHEMA, KnownKind.TABLE, KnownKind.VIEW].index(each.kind))
    external = external_catalog(spark)
    while waiting:
        failed = []
        for each in waiting:
            if each.table and external.databaseExists(each.schema) and external.tableExists(each.schema, each.table):
                continue
            try:
                _register(spark, each)
            except (PySparkException, Py4JError):
                failed.append(each)
        if len(failed) == len(waiting):
            return [each.name for each in failed]
        waiting = failed
    return []


def _register(spark: SparkSession, known: KnownTable) -> None:
    match known.kind:
        case KnownKind.SCHEMA:
            register_schema(spark, known.schema)
        case KnownKind.VIEW:
            _register_view(spark, known.text or "")
        case KnownKind.TABLE if known.provider == "delta":
            register_delta_table(spark, known.schema, known.table, known.path or "", known.text == MANAGED)
        case KnownKind.TABLE:
            spark.sql(_statement(known))
            if known.text == MANAGED:
                _manage(spark, known)


def _register_view(spark: SparkSession, text: str) -> None:
    # In a session of its own: a view takes the settings of its session along.
    session = spark.newSession()
    while text.startswith(_SET):
        setting, _, text = text.partition(";\n")
        name, _, value = setting.removeprefix(_SET).partition("=")
        session.conf.set(name, value)
    for statement in text.split(";\n", 1):
        session.sql(statement)


def _manage(spark: SparkSession, known: KnownTable) -> None:
    """Mark a table as managed: its files go with it. No statement can say so of files that are there already."""
    external = external_catalog(spark)
    kinds = java(spark).org.apache.spark.sql.catalyst.catalog.CatalogTableType
    table = external.getTable(known.schema, known.table)
    external.alterTable(changed(table, tableType=kinds.MANAGED()))


def _statement(known: KnownTable) -> str:
    """The statement that registers a table of files by what Spark finds in them; a folder without files is no table."""
    name = f"{quote(known.schema)}.{quote(known.table)}"
    location = (known.path or "").replace("\\", "\\\\").replace("'", "\\'")
    return f"CREATE TABLE IF NOT EXISTS {name} USING {known.provider} LOCATION '{location}'"


def _strings(seq: Any) -> list[str]:
    return [str(seq.apply(index)) for index in range(seq.size())]
