"""What a catalog needs of an SQL database; one implementation per database.

Statements carry `?` for every value. An implementation turns each error of its database into `CatalogError`, with its
cause; none of them contains a password.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Final, Protocol

from penstock.catalog.model import Alert

REPAIR: Final = "Run `penstock repair`: it rebuilds the catalog from the stream tables themselves."
REPORT: Final = "This is a bug in Penstock; please report it with the output of `penstock doctor`."
BUSY: Final = "Another process has been writing to it for a long time; try again."


class Row(Protocol):
    """One row of a result, by column name."""

    def __getitem__(self, column: str, /) -> Any:
        """The value of a column."""


class Result(Protocol):
    """What a statement answered."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left, one by one."""


class Statements(Protocol):
    """Where statements are run."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Result:
        """Run one statement."""


class Database(ABC):
    """One database, shared by all threads of this process and by other processes."""

    place: str
    """Where it is, as errors name it."""
    read_only: bool = False
    """True if this user may only look; every write is then `ReadOnly`."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Statements]:
        """Each statement of the block sees one state of the catalog, and waits for no writer."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Statements]:
        """All of the block happens, or nothing. It waits for the write before it, and reads what that one wrote."""

    @abstractmethod
    def now(self) -> datetime:
        """The time by the one clock of all processes that share the database."""

    @abstractmethod
    def announce(self, db: Statements, alert: Alert) -> None:
        """Notify the listeners of the database, if it can have any, of an alert once the write is committed."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; the next transaction opens it again."""
