"""Reading the catalog. Code that only reads asks for this type, and so cannot change anything.

A missing stream table is `StreamTableNotFound`, a failing database `CatalogError`; nothing else is raised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime

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
from penstock.names import TableName


class CatalogReader(ABC):
    """Read access to stream tables, dependencies, history, counters, leases and known tables."""

    @property
    @abstractmethod
    def read_only(self) -> bool:
        """True if this user may only read, even through a `CatalogWriter`."""

    @abstractmethod
    def find(self, name: TableName) -> StreamTableMeta | None:
        """The stream table of that name, or None."""

    @abstractmethod
    def get_by_name(self, name: TableName) -> StreamTableMeta:
        """The stream table of that name."""

    @abstractmethod
    def get_by_id(self, stream_table_id: int) -> StreamTableMeta:
        """The stream table with that catalog id."""

    @abstractmethod
    def get_by_table_id(self, table_id: str) -> StreamTableMeta:
        """The stream table whose storage is that Delta table."""

    @abstractmethod
    def get_all(self) -> list[StreamTableMeta]:
        """Every stream table, by name."""

    @abstractmethod
    def get_all_active(self) -> list[StreamTableMeta]:
        """The stream tables a scheduler works on (ACTIVE and INITIALIZING), by name."""

    @abstractmethod
    def upstream_part(self, table_ids: Iterable[str]) -> tuple[list[StreamTableMeta], list[Dependency]]:
        """The stream tables with these storages and those upstream of them, and what each of them reads, by name."""

    @abstractmethod
    def dependencies_of(self, stream_table_id: int) -> list[Dependency]:
        """What one stream table reads, by source name."""

    @abstractmethod
    def all_dependencies(self) -> list[Dependency]:
        """What every stream table reads; with `get_all` this is the whole graph."""

    @abstractmethod
    def consumers_of(self, source_id: str) -> list[StreamTableMeta]:
        """The stream tables that read this Delta table directly, by name."""

    @abstractmethod
    def recent_history(self, name: TableName | None = None, max_rows: int = 20) -> list[RefreshRecord]:
        """The newest refreshes first, of one stream table or of all."""

    @abstractmethod
    def effective_runs(self, stream_table_id: int, max_rows: int) -> list[RefreshRecord]:
        """The newest completed refreshes of one stream table that computed something, newest first."""

    @abstractmethod
    def runs_of_others(self, stream_table_id: int, max_rows: int) -> list[RefreshRecord]:
        """The same of all stream tables but this one."""

    @abstractmethod
    def counters(self, stream_table_id: int) -> Counters:
        """The totals of one stream table."""

    @abstractmethod
    def all_counters(self) -> list[Counters]:
        """The totals of every stream table, by id."""

    @abstractmethod
    def get_lease(self, stream_table_id: int) -> Lease | None:
        """The lease that is held on a stream table (or `SCHEDULER`), expired or not; None if it was released."""

    @abstractmethod
    def known_tables(self) -> list[KnownTable]:
        """Schemas, then tables, then views, each in the order in which they were first remembered."""

    @abstractmethod
    def dag_version(self) -> int:
        """A number that grows with every create, alter and drop: unequal means the graph must be read again."""

    @abstractmethod
    def recent_alerts(self, name: TableName | None = None, max_rows: int = 100) -> list[Alert]:
        """The newest alerts first, of one stream table or of all."""

    @abstractmethod
    def find_subscriber(self, name: str) -> Subscriber | None:
        """A durable subscription by its name, if there is one."""

    @abstractmethod
    def subscribers(self, table_id: str | None = None) -> list[Subscriber]:
        """All durable subscriptions, or those of one stream table, by name."""

    @abstractmethod
    def journal(self, after: int, max_rows: int) -> list[JournalEntry]:
        """The commits that hold an event after a position, in order."""

    @abstractmethod
    def journaled(self) -> dict[str, JournalEntry]:
        """Table id → the newest of its commits in the journal."""

    @abstractmethod
    def last_position(self) -> int:
        """The position of the newest event of all stream tables; 0 if there was none yet."""

    @abstractmethod
    def paused(self) -> bool:
        """True while no scheduler of this catalog may start a refresh."""

    @abstractmethod
    def identity(self) -> WarehouseIdentity | None:
        """The warehouse that owns this catalog; None if no warehouse was ever recorded."""

    @abstractmethod
    def now(self) -> datetime:
        """The clock that leases go by: one for all processes that share the catalog."""
