"""Reads of a catalog that is kept in an SQL database; the statements are the same for every database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final, TypeVar

from penstock.catalog import rows
from penstock.catalog.database import REPAIR, Database, Row, Statements
from penstock.catalog.model import (
    Alert,
    Counters,
    Dependency,
    JournalEntry,
    KnownTable,
    Lease,
    RefreshRecord,
    StreamTableMeta,
    Subscriber,
    WarehouseIdentity,
)
from penstock.catalog.reader import CatalogReader
from penstock.errors import CatalogError, StreamTableNotFound
from penstock.lang.unknown_name import what_was_meant
from penstock.names import TableName
from penstock.places import Places

NAME: Final = "catalog = ? AND schema_name = ? AND table_name = ?"
_UPSTREAM_PART: Final = """
    WITH RECURSIVE reached (id) AS (
      SELECT id FROM stream_tables WHERE table_id IN ({marks})
      UNION
      SELECT s.id FROM reached r JOIN dependencies d ON d.stream_table_id = r.id JOIN stream_tables s
        ON s.table_id = d.source_id
    )
    SELECT s.*, d.* FROM reached JOIN stream_tables s USING (id) LEFT JOIN dependencies d ON d.stream_table_id = s.id
    ORDER BY s.catalog, s.schema_name, s.table_name, d.source_name, d.source_id
"""

T = TypeVar("T")


class SqlReader(CatalogReader):
    """`CatalogReader` on an SQL database."""

    def __init__(self, database: Database, root: str | None = None) -> None:
        self._database = database
        self._root = root

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def _read(self) -> AbstractContextManager[Statements]:
        return self._database.read()

    def _as(self, read: Callable[[Row], T], found: Sequence[Row]) -> list[T]:
        try:
            return [read(row) for row in found]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            why = f"{self._database.place} holds a value that cannot be read: {error}"
            raise CatalogError(why=why, fix=REPAIR) from error

    @property
    def _places(self) -> Places:
        if self._root is None and (known := self.identity()) is not None:
            self._root = known.place
        return Places(self._root)

    def _read_stream_table(self, row: Row) -> StreamTableMeta:
        return rows.read_stream_table(row, self._places)

    def _read_dependency(self, row: Row) -> Dependency:
        return rows.read_dependency(row, self._places)

    def _read_known_table(self, row: Row) -> KnownTable:
        return rows.read_known_table(row, self._places)

    def identity(self) -> WarehouseIdentity | None:
        with self._read() as db:
            found = db.execute("SELECT * FROM warehouse").fetchall()
        return next(iter(self._as(rows.read_identity, found)), None)

    def find(self, name: TableName) -> StreamTableMeta | None:
        with self._read() as db:
            found = db.execute(f"SELECT * FROM stream_tables WHERE {NAME}", name_values(name)).fetchall()
        return next(iter(self._as(self._read_stream_table, found)), None)

    def get_by_name(self, name: TableName) -> StreamTableMeta:
        found = self.find(name)
        if found is None:
            meant = what_was_meant(str(name), name, [meta.name for meta in self.get_all()])
            raise StreamTableNotFound(name=name, nearest=meant)
        return found

    def get_by_id(self, stream_table_id: int) -> StreamTableMeta:
        with self._read() as db:
            return self._get(db, stream_table_id)

    def get_by_table_id(self, table_id: str) -> StreamTableMeta:
        with self._read() as db:
            found = db.execute("SELECT * FROM stream_tables WHERE table_id = ?", (table_id,)).fetchall()
        if not found:
            raise not_found(f"<storage {table_id}>")
        return self._as(self._read_stream_table, found)[0]

    def _get(self, db: Statements, stream_table_id: int) -> StreamTableMeta:
        found = db.execute("SELECT * FROM stream_tables WHERE id = ?", (stream_table_id,)).fetchall()
        if not found:
            raise not_found(f"#{stream_table_id}")
        return self._as(self._read_stream_table, found)[0]

    def get_all(self) -> list[StreamTableMeta]:
        return self._stream_tables("")

    def get_all_active(self) -> list[StreamTableMeta]:
        return self._stream_tables("WHERE status IN ('ACTIVE', 'INITIALIZING')")

    def consumers_of(self, source_id: str) -> list[StreamTableMeta]:
        where = "WHERE id IN (SELECT stream_table_id FROM dependencies WHERE source_id = ?)"
        return self._stream_tables(where, source_id)

    def upstream_part(self, table_ids: Iterable[str]) -> tuple[list[StreamTableMeta], list[Dependency]]:
        asked = tuple(table_ids)
        if not asked:
            return [], []
        marks = ", ".join("?" for _ in asked)
        with self._read() as db:
            # One statement for both, so that they belong to one state of the catalog.
            found = db.execute(_UPSTREAM_PART.format(marks=marks), asked).fetchall()
        reached = {row["id"]: row for row in found}
        tables = self._as(self._read_stream_table, list(reached.values()))
        return tables, self._as(self._read_dependency, [row for row in found if row["source_id"] is not None])

    def _stream_tables(self, where: str, *values: object) -> list[StreamTableMeta]:
        order = "ORDER BY catalog, schema_name, table_name"
        with self._read() as db:
            found = db.execute(f"SELECT * FROM stream_tables {where} {order}", values).fetchall()
        return self._as(self._read_stream_table, found)

    def dependencies_of(self, stream_table_id: int) -> list[Dependency]:
        return self._dependencies("WHERE stream_table_id = ?", stream_table_id)

    def all_dependencies(self) -> list[Dependency]:
        return self._dependencies("")

    def _dependencies(self, where: str, *values: object) -> list[Dependency]:
        order = "ORDER BY stream_table_id, source_name, source_id"
        with self._read() as db:
            found = db.execute(f"SELECT * FROM dependencies {where} {order}", values).fetchall()
        return self._as(self._read_dependency, found)

    def recent_history(self, name: TableName | None = None, max_rows: int = 20) -> list[RefreshRecord]:
        where, values = ("", ()) if name is None else ("WHERE stream_table_id = ?", (self.get_by_name(name).id,))
        with self._read() as db:
            found = db.execute(
                f"SELECT * FROM refresh_history {where} ORDER BY sequence DESC LIMIT ?", (*values, max_rows)
            ).fetchall()
        return self._as(rows.read_refresh, found)

    def effective_runs(self, stream_table_id: int, max_rows: int) -> list[RefreshRecord]:
        return self._effective_runs("stream_table_id = ?", stream_table_id, max_rows)

    def runs_of_others(self, stream_table_id: int, max_rows: int) -> list[RefreshRecord]:
        return self._effective_runs("stream_table_id <> ?", stream_table_id, max_rows)

    def _effective_runs(self, whose: str, stream_table_id: int, max_rows: int) -> list[RefreshRecord]:
        with self._read() as db:
            found = db.execute(
                f"SELECT * FROM refresh_history WHERE {whose} AND status = 'COMPLETED' "
                "AND action IN ('INCREMENTAL', 'FULL', 'REINITIALIZE') ORDER BY sequence DESC LIMIT ?",
                (stream_table_id, max_rows),
            ).fetchall()
        return self._as(rows.read_refresh, found)

    def counters(self, stream_table_id: int) -> Counters:
        with self._read() as db:
            found = db.execute("SELECT * FROM counters WHERE stream_table_id = ?", (stream_table_id,)).fetchall()
        if not found:
            raise not_found(f"#{stream_table_id}")
        return self._as(rows.read_counters, found)[0]

    def all_counters(self) -> list[Counters]:
        with self._read() as db:
            found = db.execute("SELECT * FROM counters ORDER BY stream_table_id").fetchall()
        return self._as(rows.read_counters, found)

    def get_lease(self, stream_table_id: int) -> Lease | None:
        with self._read() as db:
            found = self._lease_row(db, stream_table_id)
        return None if found is None or found["holder"] is None else self._as(rows.read_lease, [found])[0]

    def known_tables(self) -> list[KnownTable]:
        with self._read() as db:
            found = db.execute("SELECT * FROM known_tables ORDER BY kind, sequence").fetchall()
        # SCHEMA, TABLE, VIEW: the alphabet happens to be the order in which they can be registered.
        return self._as(self._read_known_table, found)

    def dag_version(self) -> int:
        with self._read() as db:
            return int(db.execute("SELECT number FROM meta WHERE key = 'dag_version'").fetchone()["number"])

    def recent_alerts(self, name: TableName | None = None, max_rows: int = 100) -> list[Alert]:
        where, values = ("", ()) if name is None else ("WHERE stream_table = ?", (str(name),))
        with self._read() as db:
            found = db.execute(
                f"SELECT * FROM alerts {where} ORDER BY sequence DESC LIMIT ?", (*values, max_rows)
            ).fetchall()
        return self._as(rows.read_alert, found)

    def find_subscriber(self, name: str) -> Subscriber | None:
        with self._read() as db:
            row = db.execute("SELECT * FROM subscriptions WHERE name = ?", (name,)).fetchone()
        return None if row is None else self._as(rows.read_subscriber, [row])[0]

    def subscribers(self, table_id: str | None = None) -> list[Subscriber]:
        where, values = ("", ()) if table_id is None else ("WHERE table_id = ?", (table_id,))
        with self._read() as db:
            found = db.execute(f"SELECT * FROM subscriptions {where} ORDER BY name", values).fetchall()
        return self._as(rows.read_subscriber, found)

    def journal(self, after: int, max_rows: int) -> list[JournalEntry]:
        # The entry that holds the next position begins there or before; by its beginning the index finds it.
        begins = "SELECT coalesce(max(position), 0) FROM journal WHERE position <= ?"
        with self._read() as db:
            found = db.execute(
                f"SELECT * FROM journal WHERE position >= ({begins}) AND position + events > ? "
                "ORDER BY position LIMIT ?",
                (after + 1, after + 1, max_rows),
            ).fetchall()
        return self._as(rows.read_journal_entry, found)

    def journaled(self) -> dict[str, JournalEntry]:
        newest = "SELECT table_id, max(version) AS version FROM journal GROUP BY table_id"
        with self._read() as db:
            found = db.execute(f"SELECT * FROM journal JOIN ({newest}) AS newest USING (table_id, version)").fetchall()
        return {entry.table_id: entry for entry in self._as(rows.read_journal_entry, found)}

    def last_position(self) -> int:
        with self._read() as db:
            return int(db.execute("SELECT number FROM meta WHERE key = 'last_position'").fetchone()["number"])

    def paused(self) -> bool:
        with self._read() as db:
            return bool(db.execute("SELECT number FROM meta WHERE key = 'paused'").fetchone()["number"])

    def now(self) -> datetime:
        return self._database.now()

    def _lease_row(self, db: Statements, stream_table_id: int) -> Row | None:
        row: Row | None = db.execute("SELECT * FROM leases WHERE stream_table_id = ?", (stream_table_id,)).fetchone()
        return row


def name_values(name: TableName) -> tuple[str, str, str]:
    """The values that `NAME` asks for."""
    return name.catalog, name.schema, name.table


def not_found(what: str) -> StreamTableNotFound:
    """The error for a stream table that is not there any more, of which only a number is known."""
    return StreamTableNotFound(name=what, nearest="See them all with: SHOW STREAM TABLES")
