"""One connection to PostgreSQL: statements with `?`, each prepared once; not for several threads at a time."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pg8000.converters import make_params
from pg8000.exceptions import InterfaceError
from pg8000.native import Connection

from penstock.catalog.postgres_address import PostgresAddress
from penstock.catalog.postgres_errors import FAILURES

_CONNECT_SECONDS: Final = 10.0
_STALLED_SECONDS: Final = 4
"""A write takes milliseconds. One that is silent for longer than this has stopped, and blocks all other processes: also
the scheduler that is to take over from it, within ten seconds."""
_PREPARED: Final = 200

_Prepared = tuple[bytes, list[dict[str, Any]] | None, list[Any], str]


class Answer:
    """The rows of one statement."""

    def __init__(self, columns: Sequence[Mapping[str, Any]], values: Sequence[Sequence[Any]], rowcount: int) -> None:
        names = [column["name"] for column in columns]
        self._rows = [dict(zip(names, row, strict=True)) for row in values]
        self.rowcount = rowcount

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())


class Session:
    """A connection whose statements find the tables of the catalog's schema."""

    def __init__(self, address: PostgresAddress, busy_seconds: float) -> None:
        plug = socket.create_connection((address.host, address.port), _CONNECT_SECONDS)
        try:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._connection = Connection(
                address.user,
                host=address.host,
                database=address.database,
                # The driver cannot do without one where the server asks for one.
                password=address.password or " ",
                ssl_context=address.ssl_context,
                application_name="penstock",
                startup_params=_startup(address, busy_seconds),
                sock=plug,
            )
        except FAILURES:
            plug.close()
            raise
        except Exception as error:
            plug.close()
            # Whatever the driver stumbles over when it meets a server that answers otherwise than PostgreSQL does.
            raise InterfaceError(f"it does not answer as PostgreSQL does: {error or type(error).__name__}") from error
        # Longer than the server lets any statement of ours wait: more means that the server is gone. Asked of the
        # driver, because encryption has put another socket in the place of ours.
        self._connection._usock.settimeout(busy_seconds + _CONNECT_SECONDS)
        self._prepared: dict[str, _Prepared] = {}
        # A lease that was granted must stay granted after a power cut, or its token would be given twice.
        self.run(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Answer:
        """Run one statement."""
        name, columns, functions, text = self._prepared.get(sql) or self._prepare(sql)
        values = make_params(self._connection.py_types, [_storable(value) for value in parameters])
        context = self._connection.execute_named(name, values, columns, functions, text)
        return Answer(columns or (), context.rows or (), context.row_count)

    def run(self, script: str) -> None:
        """Run statements without values in one round trip."""
        self._connection.execute_simple(script)

    def begin(self, key: int) -> None:
        """Begin a write: wait for the lock of that number, then see everything that was committed before."""
        # Read committed, whatever the server's default is: else the state would be that from before the wait.
        self.run(f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({key})")

    def close(self) -> None:
        """Close the connection; the server rolls back what was not committed."""
        with suppress(*FAILURES):
            self._connection.close()

    def _prepare(self, sql: str) -> _Prepared:
        if len(self._prepared) == _PREPARED:
            for name, *_ in self._prepared.values():
                self._connection.close_prepared_statement(name)
            self._prepared.clear()
        text = _numbered(sql)
        prepared: _Prepared = (*self._connection.prepare_statement(text, ()), text)
        self._prepared[sql] = prepared
        return prepared


def _startup(address: PostgresAddress, busy_seconds: float) -> dict[str, str]:
    return {
        "search_path": address.schema,
        "client_encoding": "UTF8",
        # The only one that the driver reads.
        "datestyle": "ISO",
        "lock_timeout": str(max(1, round(busy_seconds * 1000))),
        "idle_in_transaction_session_timeout": f"{_STALLED_SECONDS}s",
        # A machine that vanished does not hang up.
        "tcp_keepalives_idle": "30",
        "tcp_keepalives_interval": "10",
        "tcp_keepalives_count": "3",
    }


def _numbered(sql: str) -> str:
    first, *rest = sql.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


def _storable(value: Any) -> Any:
    # Text in PostgreSQL has no NUL. Only messages of other programs can hold one.
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value
