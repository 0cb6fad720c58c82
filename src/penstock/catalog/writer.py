"""Changing the catalog. Every method is one transaction: all of it happened, or nothing did.

Two guards keep a late worker from doing harm: the fencing token (has another worker taken a lease since?) and
compare-and-set on the frontier (does the table still stand where the work started?). `dag_version`, where accepted, is
the version the caller's decision was based on; if the graph has changed since, nothing is written.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from penstock.catalog.model import (
    UNSET,
    Action,
    Advance,
    Alert,
    Dependency,
    JournalEntry,
    KnownTable,
    Lease,
    RefreshMode,
    RefreshRecord,
    Status,
    StreamTableMeta,
    Subscriber,
    UnsetType,
    WarehouseIdentity,
)
from penstock.catalog.reader import CatalogReader
from penstock.names import Frontier, TableName


class CatalogWriter(CatalogReader):
    """Read and write access."""

    # Definitions

    @abstractmethod
    def insert(
        self,
        meta: StreamTableMeta,
        dependencies: Sequence[Dependency],
        *,
        now: datetime,
        dag_version: int | None = None,
    ) -> int:
        """Add a stream table with what it reads, and return its id. `TableExists` if name or storage is taken."""

    @abstractmethod
    def update_definition(
        self,
        stream_table_id: int,
        *,
        now: datetime,
        query: str | UnsetType = UNSET,
        database: str | UnsetType = UNSET,
        settings: Mapping[str, str] | UnsetType = UNSET,
        target_lag: timedelta | UnsetType | None = UNSET,
        refresh_mode: RefreshMode | UnsetType = UNSET,
        key: tuple[str, ...] | UnsetType = UNSET,
        definition_hash: str | UnsetType = UNSET,
        table_id: str | UnsetType = UNSET,
        path: str | UnsetType = UNSET,
        dependencies: Sequence[Dependency] | UnsetType = UNSET,
        dag_version: int | None = None,
    ) -> None:
        """Change what is given and leave the rest. A new `table_id` is passed on to consumers, which must rebuild."""

    @abstractmethod
    def update_status(self, stream_table_id: int, status: Status, *, now: datetime, lease: Lease | None = None) -> None:
        """Move along the allowed transitions. Leaving SUSPENDED or ERROR forgets the counted errors.

        With a `lease`, `LeaseLost` if it is no longer the one in force.
        """

    @abstractmethod
    def mark_reinit(self, stream_table_id: int, reason: str, *, now: datetime) -> None:
        """The next refresh must rebuild the stream table."""

    @abstractmethod
    def delete(self, stream_table_id: int, *, dag_version: int | None = None) -> None:
        """Forget a stream table with its dependencies, history, counters and lease."""

    # Refreshes

    @abstractmethod
    def update_after_refresh(
        self,
        lease: Lease,
        *,
        action: Action,
        before: Frontier | None,
        after: Frontier,
        table_version: int | None,
        now: datetime,
        last_lsn: int | None = None,
        effective_mode: RefreshMode | None = None,
        reason_code: str | None = None,
        reason: str | None = None,
        reinit_requests: int = 0,
    ) -> None:
        """Move the frontier from `before` to `after`, tagged with the storage version it belongs to.

        `last_lsn` is the position that the changelog has reached; without it, the one that was written down stays.
        Sets populated and ACTIVE (a SUSPENDED table that was refreshed by hand stays suspended), forgets counted
        errors; FULL and REINITIALIZE settle the `reinit_requests` that they saw at their start: one that came later
        stands, and so does its rebuild. `LeaseLost` if a later lease exists, `CommitConflict` if
        the frontier is no longer `before`.
        """

    @abstractmethod
    def advance_no_data(
        self, advances: Sequence[Advance], *, now: datetime, records: Sequence[RefreshRecord] = ()
    ) -> frozenset[int]:
        """Move the frontiers of all tables of a tick for which nothing changed, and return the ids that moved.

        It leaves alone a table on which a worker is at work, and one whose frontier is not `before` any more. The
        `records` of the tables that moved go into history.
        """

    @abstractmethod
    def record_failure(
        self,
        stream_table_id: int,
        error: str,
        *,
        now: datetime,
        countable: bool = True,
        lease: Lease | None = None,
    ) -> int:
        """Keep the error text and return the number of countable errors in a row, this one included.

        With a `lease`, `LeaseLost` if it is no longer the one in force.
        """

    @abstractmethod
    def start_refresh(self, record: RefreshRecord) -> None:
        """Write the RUNNING row, before the work."""

    @abstractmethod
    def finish_refresh(self, record: RefreshRecord) -> None:
        """Complete the RUNNING row and count it. `LeaseLost` if it has been closed as interrupted meanwhile."""

    @abstractmethod
    def record_refresh(self, record: RefreshRecord) -> None:
        """Write and count a refresh that never ran (SKIP) or took no time of its own (NO_DATA)."""

    @abstractmethod
    def close_orphans(self, *, now: datetime) -> list[str]:
        """Close RUNNING rows whose worker is gone or has lost its lease; return their refresh ids."""

    @abstractmethod
    def prune_history(self, keep: timedelta, *, now: datetime) -> int:
        """Drop ended refreshes older than `keep`; return how many."""

    @abstractmethod
    def reset_counters(self, stream_table_id: int) -> None:
        """Start the totals of one stream table again from zero."""

    # Leases

    @abstractmethod
    def acquire_lease(self, stream_table_id: int, holder: str, duration: timedelta, *, now: datetime) -> Lease:
        """Take a table that is free, expired, or held by a process that is dead; else `TableBusy`.

        Not reentrant: threads of one process exclude each other too. The token is larger than all before it.
        """

    @abstractmethod
    def renew_lease(self, lease: Lease, duration: timedelta, *, now: datetime) -> Lease:
        """Hold on longer; an expired lease that no other worker took, too. `LeaseLost` if a later lease exists."""

    @abstractmethod
    def release_lease(self, lease: Lease) -> None:
        """Give the table free; does nothing if the lease was lost."""

    # The scheduler

    @abstractmethod
    def release_all(self, holder: str) -> int:
        """Free every table that a process holds which has lost its leadership; return how many."""

    @abstractmethod
    def record_alert(self, alert: Alert) -> None:
        """Keep an alert, and pass it on to listeners at the database."""

    @abstractmethod
    def prune_alerts(self, keep: timedelta, *, now: datetime) -> int:
        """Drop alerts older than `keep`; return how many."""

    @abstractmethod
    def add_subscriber(self, subscriber: Subscriber) -> None:
        """Keep a new durable subscription; `SubscriptionExists` if the name is taken."""

    @abstractmethod
    def acknowledge(self, name: str, lsn: int, *, now: datetime) -> None:
        """Move a durable subscription forward; it never goes back. `SubscriptionNotFound` if there is none."""

    @abstractmethod
    def drop_subscriber(self, name: str) -> None:
        """Forget a durable subscription; `SubscriptionNotFound` if there is none."""

    @abstractmethod
    def append_journal(self, commits: Sequence[JournalEntry]) -> None:
        """Give commits their places after the newest position, in this order; those that have one keep it.

        The catalog assigns the positions, and ignores those in the entries.
        """

    @abstractmethod
    def prune_journal(self, table_id: str, before: int) -> int:
        """Drop entries of a table's versions before this one, which can no longer be read; return how many."""

    @abstractmethod
    def set_paused(self, paused: bool) -> None:
        """Stop every scheduler of this catalog from starting refreshes, or let them go on."""

    # Whose catalog it is

    @abstractmethod
    def record_owner(self, before: WarehouseIdentity | None, after: WarehouseIdentity, former: str | None) -> None:
        """Record the warehouse that owns this catalog, unless another process has recorded one since `before`.

        Paths below `former` that were written in full become relative to the warehouse.
        """

    @abstractmethod
    def begin_copy(self, original: WarehouseIdentity, copy: WarehouseIdentity) -> str:
        """The id that a copy is to have: the proposed one, or that of an attempt which was interrupted."""

    @abstractmethod
    def finish_copy(self, copy: WarehouseIdentity, former: str, *, now: datetime) -> None:
        """Make the catalog the copy's, and drop what belongs to the original.

        To the original belong the leases and running refreshes of its workers, the durable subscriptions of its
        readers, and tables whose files lie outside the warehouse.
        """

    # Plain tables, views and schemas

    @abstractmethod
    def remember_table(self, table: KnownTable) -> None:
        """Add or replace; a table and a view of one name exclude each other."""

    @abstractmethod
    def forget_table(self, name: TableName) -> None:
        """Remove a table or view; an unknown name is not an error."""

    @abstractmethod
    def forget_schema(self, schema: str) -> None:
        """Remove a schema with all its tables and views; an unknown name is not an error."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection to the database."""
