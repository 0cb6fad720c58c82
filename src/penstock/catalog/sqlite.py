"""The catalog in one SQLite file, shared by all threads of a process and by several processes of one machine.

Every write begins with `BEGIN IMMEDIATE`, which waits for other writers. Readers never wait for writers (WAL).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from penstock.catalog.database import BUSY, REPAIR, REPORT, Database, Statements
from penstock.catalog.migrations import MIGRATIONS
from penstock.catalog.model import Alert
from penstock.catalog.open_readonly import open_readonly
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.catalog.upgrade import latest, stored_version, upgrade
from penstock.errors import CatalogError, CatalogLost, CatalogUnusable, ReadOnly
from penstock.interrupts import DeferInterrupt


class SqliteCatalog(SqlCatalog):
    """`CatalogWriter` on a SQLite file, which is created and brought to the latest schema on opening.

    A file that this user may not write to can still be read; `read_only` treats every file so.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        root: str | None = None,
        busy_timeout: timedelta = timedelta(seconds=30),
        must_exist: bool = False,
        read_only: bool = False,
    ) -> None:
        self.path = Path(path)
        super().__init__(SqliteDatabase(self.path, busy_timeout, must_exist, read_only), root)


def require_folder(path: Path) -> None:
    """CatalogUnusable if there is no folder for the file."""
    if not path.parent.is_dir():
        raise CatalogUnusable(
            place=path,
            why=f"there is no folder {path.parent}",
            fix="Create the folder, or set `catalog` in penstock.toml to another place. If the warehouse was "
            "moved, write a file inside it as a relative path: then it is found wherever the warehouse is.",
        )


class SqliteDatabase(Database):
    """One connection to a SQLite file, behind a lock."""

    def __init__(self, path: Path, busy_timeout: timedelta, must_exist: bool = False, read_only: bool = False) -> None:
        self.place = str(path)
        self.lock = threading.RLock()
        self._patience = busy_timeout.total_seconds()
        self._must_exist = must_exist
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        require_folder(path)
        if must_exist and not path.exists():
            raise CatalogLost(place=path)
        # The log is made beside the file, so the folder must be writable too.
        writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
        self.read_only = read_only or (path.exists() and not writable)
        with self.read() if self.read_only else self.write():
            pass

    def close(self) -> None:
        with self.lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def now(self) -> datetime:
        return datetime.now(UTC)

    def announce(self, db: Statements, alert: Alert) -> None:
        # A file has no listeners.
        pass

    @contextmanager
    def read(self) -> Iterator[Statements]:
        with self.lock, self._translated():
            if not self.read_only:
                yield self._open()
                return
            with closing(self._open_readonly()) as connection:
                yield connection

    @contextmanager
    def write(self) -> Iterator[Statements]:
        if self.read_only:
            raise ReadOnly(place=self.place)
        # An interrupt right behind BEGIN would leave a transaction open.
        with self.lock, self._translated(), DeferInterrupt():
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    def _open(self) -> sqlite3.Connection:
        # A connection must not be carried over a fork.
        if self._connection is None or self._pid != os.getpid():
            connection = sqlite3.connect(
                self.place, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
            try:
                connection.row_factory = sqlite3.Row
                connection.execute("PRAGMA foreign_keys = ON")
                _switch_to_wal(connection, self._patience)
                # A lease that was granted must stay granted after a power cut, or its token would be given twice.
                connection.execute("PRAGMA synchronous = FULL")
                self._upgrade(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._pid = connection, os.getpid()
        return self._connection

    def _open_readonly(self) -> sqlite3.Connection:
        connection = open_readonly(Path(self.place), self._patience)
        version = self._version(connection)
        if version != latest():
            connection.close()
            raise CatalogUnusable(
                place=self.place,
                why=f"its schema is {version}, not {latest()}, and this user may not write to it",
                fix="Open it once as a user who may write there.",
            )
        return connection

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        if self._version(connection) == latest():
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Read again: another process may have upgraded it while this one waited.
            upgrade(_Schema(connection), self._version(connection))
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise

    def _version(self, connection: sqlite3.Connection) -> int:
        tables = {row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return stored_version(connection, tables, self.place, must_exist=self._must_exist)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise CatalogError(why=f"{self.place}: {error}", fix=fix_of(error)) from error


def make_schema(connection: sqlite3.Connection, version: int) -> None:
    """Make the catalog of a version in an empty database."""
    for up in MIGRATIONS[:version]:
        up(_Schema(connection))


class _Schema:
    """A connection as migrations see it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, /) -> object:
        return self._connection.execute(sql)

    def epoch(self, moment: str | None, /) -> str:
        day = "julianday('now')" if moment is None else f"julianday({moment})"
        # 2440587.5 is the Julian day of 1970.
        return f"(({day} - 2440587.5) * 86400.0)"


def _switch_to_wal(connection: sqlite3.Connection, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # This one statement does not honour the busy timeout while another process opens the same new file.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _roll_back(connection: sqlite3.Connection) -> None:
    # Some errors (disk full, damage) have already ended the transaction.
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def fix_of(error: sqlite3.Error) -> str:
    """What to do about an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte is the primary code.
    primary = None if code is None else code & 0xFF
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return REPORT
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return BUSY
    if primary in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
        return "Make room on the disk, or check it, then try again."
    if primary in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return "Check that the folder exists and that this user may write to it."
    return REPAIR
