"""The catalog in a PostgreSQL schema of its own, shared by many processes on many machines.

Every write begins with an advisory lock that belongs to the schema, which waits for other writers; the server ends the
session of a process that stops in the middle of a write. Readers never wait for writers. A lost connection, as by a
restart of the server, is made again before a transaction begins, never inside one.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from penstock.catalog.database import Database, Statements
from penstock.catalog.model import Alert
from penstock.catalog.notification import CHANNEL, payload
from penstock.catalog.postgres_address import PostgresAddress
from penstock.catalog.postgres_errors import FAILURES, is_lost, rights, root, translated
from penstock.catalog.postgres_session import Answer, Session
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.catalog.upgrade import latest, stored_version, upgrade
from penstock.errors import CatalogUnusable

_IDLE: Final = 4
"""How many idle connections are kept at most."""

T = TypeVar("T")


class PostgresCatalog(SqlCatalog):
    """`CatalogWriter` on a PostgreSQL schema, which is created and brought to the latest version on opening."""

    def __init__(
        self,
        url: str,
        *,
        root: str | None = None,
        busy_timeout: timedelta = timedelta(seconds=30),
        reconnect_timeout: timedelta = timedelta(seconds=15),
        must_exist: bool = False,
    ) -> None:
        address = PostgresAddress.parse(url)
        super().__init__(PostgresDatabase(address, busy_timeout, reconnect_timeout, must_exist), root)


class PostgresDatabase(Database):
    """As many connections as there are transactions at a time."""

    def __init__(
        self, address: PostgresAddress, busy_timeout: timedelta, reconnect_timeout: timedelta, must_exist: bool = False
    ) -> None:
        self.place = str(address)
        self._address = address
        self._busy_seconds = busy_timeout.total_seconds()
        self._reconnect_seconds = reconnect_timeout.total_seconds()
        digest = hashlib.sha256(f"penstock catalog {address.schema}".encode()).digest()
        self._key = int.from_bytes(digest[:8], signed=True)
        self._lock = threading.Lock()
        self._idle: list[Session] = []
        self._pid = os.getpid()
        with self._translated():
            # A first attempt is answered at once: the address may be wrong.
            session = self._connect(patience=0.0)
            try:
                _upgrade(session, self._key, address, must_exist)
            except BaseException:
                session.close()
                raise
        self._give_back(session)

    def close(self) -> None:
        for session in self._forget():
            session.close()

    def now(self) -> datetime:
        with self.read() as db:
            moment: datetime = db.execute("SELECT clock_timestamp() AS now").fetchone()["now"]
        return moment.astimezone(UTC)

    def announce(self, db: Statements, alert: Alert) -> None:
        db.execute("SELECT pg_notify(?, ?)", (CHANNEL, payload(alert)))

    @contextmanager
    def read(self) -> Iterator[Statements]:
        with self._translated():
            yield _Reading(self)

    @contextmanager
    def write(self) -> Iterator[Statements]:
        with self._translated():
            session, _ = self._tried(lambda session: session.begin(self._key))
            try:
                yield session
                session.run("COMMIT")
            except BaseException as error:
                self._roll_back(session, error)
                raise
            self._give_back(session)

    def fetch(self, sql: str, parameters: Sequence[Any]) -> Answer:
        """Run one statement that only reads."""
        session, answer = self._tried(lambda session: session.execute(sql, parameters))
        self._give_back(session)
        return answer

    def _tried(self, begin: Callable[[Session], T]) -> tuple[Session, T]:
        """A session and what `begin` answered on it; if the session was lost, a second one is tried."""
        session = self._take()
        try:
            return session, begin(session)
        except FAILURES as error:
            session.close()
            if not is_lost(error):
                raise
        except BaseException:
            session.close()
            raise
        # Whatever ended this one has ended the idle ones too.
        self.close()
        session = self._connect(self._reconnect_seconds)
        try:
            return session, begin(session)
        except BaseException:
            session.close()
            raise

    def _roll_back(self, session: Session, error: BaseException) -> None:
        # Only after an error of our own is the connection known to be in order.
        if isinstance(error, Exception) and not isinstance(error, FAILURES):
            with suppress(*FAILURES):
                session.run("ROLLBACK")
                self._give_back(session)
                return
        session.close()
        if isinstance(error, FAILURES) and is_lost(error):
            self.close()

    def _take(self) -> Session:
        with self._lock:
            # A connection must not be carried over a fork.
            if self._pid != os.getpid():
                self._idle, self._pid = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        return self._connect(self._reconnect_seconds)

    def _give_back(self, session: Session) -> None:
        with self._lock:
            if len(self._idle) < _IDLE:
                self._idle.append(session)
                return
        session.close()

    def _forget(self) -> list[Session]:
        with self._lock:
            idle, self._idle = self._idle, []
            return idle if self._pid == os.getpid() else []

    def _connect(self, patience: float) -> Session:
        deadline = time.monotonic() + patience
        while True:
            try:
                return Session(self._address, self._busy_seconds)
            except FAILURES as error:
                if not is_lost(root(error)) or time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            found = root(error)
            raise translated(found, self._address) from found


class _Reading:
    """Statements that only read: each on any connection, and once more if that is lost."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Answer:
        return self._database.fetch(sql, parameters)


class _Schema:
    """A session as migrations see it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def execute(self, sql: str, /) -> None:
        # Text sorts by its bytes, as it does in SQLite, whatever the language of the server.
        self._session.run(re.sub(r"\bTEXT\b", 'TEXT COLLATE "C"', sql))

    def epoch(self, moment: str | None, /) -> str:
        stamp = "clock_timestamp()" if moment is None else f"CAST({moment} AS timestamptz)"
        return f"CAST(extract(epoch FROM {stamp}) AS double precision)"


def _upgrade(session: Session, key: int, address: PostgresAddress, must_exist: bool) -> None:
    if _version(session, address, must_exist) == latest():
        return
    session.begin(key)
    # Read again: another process may have upgraded it while this one waited.
    version = _version(session, address)
    if version == 0:
        _create_schema(session, address)
    upgrade(_Schema(session), version)
    session.run("COMMIT")


def _version(session: Session, address: PostgresAddress, must_exist: bool = False) -> int:
    right = "SELECT has_schema_privilege(oid, 'USAGE') AS there FROM pg_namespace WHERE nspname = ?"
    granted = session.execute(right, (address.schema,)).fetchone()
    if granted is not None and not granted["there"]:
        # Said here: to such a user the tables simply do not exist.
        raise CatalogUnusable(place=str(address), why="this user may not use the schema", fix=rights(address))
    found = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = ?", (address.schema,))
    tables = {row["tablename"] for row in found}
    return stored_version(session, tables, str(address), must_exist=must_exist)


def _create_schema(session: Session, address: PostgresAddress) -> None:
    encoding = session.execute("SELECT current_setting('server_encoding') AS name").fetchone()["name"]
    if encoding != "UTF8":
        raise CatalogUnusable(
            place=str(address), why=f"its encoding is {encoding}, which lacks characters", fix="Use a database in UTF8."
        )
    # Not IF NOT EXISTS, which asks for the right to create even where there is nothing to create.
    if session.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (address.schema,)).fetchone() is None:
        session.run(f'CREATE SCHEMA "{address.schema}"')


@dataclass(frozen=True, slots=True)
class PostgresState:
    """What `read_state` found."""

    server: str
    schema_version: int
    ahead: timedelta
    """By how much the server's clock is ahead of this machine's."""


def read_state(url: str) -> PostgresState:
    """Whether a catalog can be used from here; nothing is changed, and schema version 0 means none yet."""
    address = PostgresAddress.parse(url)
    try:
        session = Session(address, busy_seconds=5)
    except FAILURES as error:
        found = root(error)
        raise translated(found, address) from found
    try:
        version = _version(session, address)
        row = session.execute(
            "SELECT current_setting('server_version') AS server, clock_timestamp() AS now,"
            " has_database_privilege(current_database(), 'CREATE') AS may_create"
        ).fetchone()
        if version == 0 and not row["may_create"]:
            raise CatalogUnusable(
                place=str(address), why="there is no schema yet, and this user may not create one", fix=rights(address)
            )
        return PostgresState(row["server"].split()[0], version, row["now"] - datetime.now(UTC))
    except FAILURES as error:
        raise translated(error, address) from error
    finally:
        session.close()
