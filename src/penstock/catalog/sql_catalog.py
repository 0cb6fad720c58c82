"""A catalog that is kept in an SQL database: everything but the connection, which is a `Database`.

The SQL here is what SQLite and PostgreSQL have in common, so each rule is written once. Every write waits for other
writers *before* it reads, so what it checks still holds when it writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Final, Self

from penstock.catalog import ownership, rows
from penstock.catalog.database import Statements
from penstock.catalog.model import (
    SCHEDULER,
    UNSET,
    Action,
    Advance,
    Alert,
    Dependency,
    JournalEntry,
    KnownKind,
    KnownTable,
    Lease,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    Status,
    StreamTableMeta,
    Subscriber,
    UnsetType,
    WarehouseIdentity,
)
from penstock.catalog.owner import is_dead
from penstock.catalog.sql_reader import NAME, SqlReader, name_values, not_found
from penstock.catalog.writer import CatalogWriter
from penstock.errors import (
    CommitConflict,
    InternalError,
    LeaseLost,
    SubscriptionExists,
    SubscriptionNotFound,
    TableBusy,
    TableExists,
)
from penstock.failpoints import Failpoint, reach
from penstock.names import Frontier, TableName

INTERRUPTED: Final = "interrupted by restart"
"""What history says of a refresh whose worker did not live to finish it."""


class SqlCatalog(SqlReader, CatalogWriter):
    """`CatalogWriter` on an SQL database."""

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self) -> AbstractContextManager[Statements]:
        return self._database.write()

    # Definitions

    def insert(
        self,
        meta: StreamTableMeta,
        dependencies: Sequence[Dependency],
        *,
        now: datetime,
        dag_version: int | None = None,
    ) -> int:
        values = rows.write_stream_table(meta, self._places)
        with self._write() as db:
            _bump_dag(db, str(meta.name), dag_version)
            if db.execute(f"SELECT 1 FROM stream_tables WHERE {NAME}", name_values(meta.name)).fetchone():
                raise TableExists(name=meta.name, kind="stream table")
            if db.execute("SELECT 1 FROM stream_tables WHERE table_id = ?", (meta.table_id,)).fetchone():
                raise TableExists(name=meta.path, kind="storage of another stream table")
            values["id"] = stream_table_id = _next(db, "last_stream_table")
            values["created_at"] = values["updated_at"] = rows.moment(now)
            _insert(db, "stream_tables", values)
            _insert(db, "counters", {"stream_table_id": stream_table_id})
            for dependency in dependencies:
                _insert(db, "dependencies", rows.write_dependency(stream_table_id, dependency, self._places))
        reach(Failpoint.CATALOG_ROW_MADE)
        return stream_table_id

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
        changes: dict[str, Any] = {
            "query": query,
            "database_name": database,
            "settings": settings if settings is UNSET else rows.json_text(dict(settings)),
            "target_lag_seconds": target_lag if target_lag is UNSET else rows.lag_seconds(target_lag),
            "refresh_mode": refresh_mode if refresh_mode is UNSET else refresh_mode.value,
            "key_columns": key if key is UNSET else rows.json_text(list(key)),
            "definition_hash": definition_hash,
            "table_id": table_id,
            "path": path if path is UNSET else self._places.kept(path),
        }
        given = {column: value for column, value in changes.items() if value is not UNSET}
        with self._write() as db:
            old = self._get(db, stream_table_id)
            _bump_dag(db, str(old.name), dag_version)
            _update(db, stream_table_id, now, given)
            if dependencies is not UNSET:
                db.execute("DELETE FROM dependencies WHERE stream_table_id = ?", (stream_table_id,))
                for dependency in dependencies:
                    _insert(db, "dependencies", rows.write_dependency(stream_table_id, dependency, self._places))
            if table_id is not UNSET and table_id != old.table_id:
                _follow_new_storage(db, old, table_id, now)

    def update_status(self, stream_table_id: int, status: Status, *, now: datetime, lease: Lease | None = None) -> None:
        with self._write() as db:
            old = self._get(db, stream_table_id)
            if lease is not None:
                self._check_fence(db, lease)
            if not old.status.may_become(status):
                raise InternalError(why=f"{old.name} cannot go from {old.status} to {status}")
            changes: dict[str, Any] = {"status": status.value}
            if old.status in {Status.SUSPENDED, Status.ERROR} and status in {Status.ACTIVE, Status.INITIALIZING}:
                changes |= {"consecutive_errors": 0, "last_error": None}
            _bump_dag(db, str(old.name))
            _update(db, stream_table_id, now, changes)

    def mark_reinit(self, stream_table_id: int, reason: str, *, now: datetime) -> None:
        with self._write() as db:
            self._get(db, stream_table_id)
            _ask_for_rebuild(db, "id = ?", stream_table_id, reason, now)

    def delete(self, stream_table_id: int, *, dag_version: int | None = None) -> None:
        with self._write() as db:
            _bump_dag(db, str(self._get(db, stream_table_id).name), dag_version)
            # Dependencies and counters go by foreign key.
            db.execute("DELETE FROM stream_tables WHERE id = ?", (stream_table_id,))
            db.execute("DELETE FROM refresh_history WHERE stream_table_id = ?", (stream_table_id,))
            db.execute("DELETE FROM leases WHERE stream_table_id = ?", (stream_table_id,))

    # Refreshes

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
        reach(Failpoint.BEFORE_THE_CATALOG)
        with self._write() as db:
            old = self._get(db, lease.stream_table_id)
            self._check_fence(db, lease)
            if old.frontier != before:
                raise CommitConflict(name=old.name, why="its frontier is not where this refresh started")
            rebuilt = action in {Action.FULL, Action.REINITIALIZE}
            if before is not None and not rebuilt and not before <= after:
                raise InternalError(why=f"the frontier of {old.name} would move back")
            changes: dict[str, Any] = {
                "status": (Status.SUSPENDED if old.status is Status.SUSPENDED else Status.ACTIVE).value,
                "is_populated": 1,
                "data_timestamp": rows.moment(after.data_timestamp) if after.data_timestamp else None,
                "frontier": rows.frontier_text(after),
                "frontier_version": table_version,
                "last_lsn": old.last_lsn if last_lsn is None else last_lsn,
                "effective_mode": effective_mode.value if effective_mode else None,
                "reason_code": reason_code,
                "reason": reason,
                "consecutive_errors": 0,
                "last_error": None,
                "last_refresh_at": rows.moment(now),
            }
            if rebuilt and old.reinit_requests == reinit_requests:
                changes |= {"needs_reinit": 0, "reinit_reason": None}
            _update(db, old.id, now, changes)
        reach(Failpoint.IN_THE_CATALOG)

    def advance_no_data(
        self, advances: Sequence[Advance], *, now: datetime, records: Sequence[RefreshRecord] = ()
    ) -> frozenset[int]:
        moved: set[int] = set()
        stamp = rows.moment(now)
        if not advances:
            return frozenset()
        with self._write() as db:
            busy = {
                row["stream_table_id"]
                for row in db.execute(
                    "SELECT stream_table_id FROM leases WHERE holder IS NOT NULL AND expires_at > ?", (stamp,)
                )
            }
            stored = {row["id"]: row["frontier"] for row in db.execute("SELECT id, frontier FROM stream_tables")}
            for advance in advances:
                target = advance.stream_table_id
                if target in busy or stored.get(target) != rows.frontier_text(advance.before):
                    continue
                if not advance.before <= advance.after:
                    raise InternalError(why=f"the frontier of stream table #{target} would move back")
                stamped = advance.after.data_timestamp
                changes = {
                    "frontier": rows.frontier_text(advance.after),
                    "data_timestamp": rows.moment(stamped) if stamped else None,
                    "consecutive_errors": 0,
                    "last_error": None,
                    "last_refresh_at": stamp,
                }
                _update(db, target, now, changes)
                moved.add(target)
            for record in records:
                if record.stream_table_id in moved:
                    _add_to_history(db, record)
                    _count(db, record)
        return frozenset(moved)

    def record_failure(
        self,
        stream_table_id: int,
        error: str,
        *,
        now: datetime,
        countable: bool = True,
        lease: Lease | None = None,
    ) -> int:
        with self._write() as db:
            if lease is not None:
                self._check_fence(db, lease)
            found = db.execute(
                "UPDATE stream_tables SET consecutive_errors = consecutive_errors + ?, last_error = ?, updated_at = ?"
                " WHERE id = ? RETURNING consecutive_errors",
                (int(countable), error, rows.moment(now), stream_table_id),
            ).fetchone()
            if found is None:
                raise not_found(f"#{stream_table_id}")
        return int(found["consecutive_errors"])

    def start_refresh(self, record: RefreshRecord) -> None:
        if record.status is not RefreshStatus.RUNNING:
            raise InternalError(why=f"a refresh starts as RUNNING, not as {record.status}")
        with self._write() as db:
            self._get(db, record.stream_table_id)
            _add_to_history(db, record)
        reach(Failpoint.STARTED)

    def finish_refresh(self, record: RefreshRecord) -> None:
        if record.status is RefreshStatus.RUNNING or record.ended_at is None:
            raise InternalError(why="a refresh that ends has an end and is not RUNNING")
        values = rows.write_refresh(record)
        del values["refresh_id"]
        assignments = ", ".join(f"{column} = ?" for column in values)
        with self._write() as db:
            changed = db.execute(
                f"UPDATE refresh_history SET {assignments} WHERE refresh_id = ? AND status = 'RUNNING'",
                (*values.values(), record.refresh_id),
            ).rowcount
            if not changed:
                raise self._lost(db, record.stream_table_id)
            _count(db, record)
        reach(Failpoint.IN_HISTORY)

    def record_refresh(self, record: RefreshRecord) -> None:
        if record.status is RefreshStatus.RUNNING or record.ended_at is None:
            raise InternalError(why="a refresh that is recorded at once has ended")
        with self._write() as db:
            self._get(db, record.stream_table_id)
            _add_to_history(db, record)
            _count(db, record)

    def close_orphans(self, *, now: datetime) -> list[str]:
        closed: list[str] = []
        stamp = rows.moment(now)
        with self._write() as db:
            running = db.execute(
                "SELECT h.refresh_id, h.stream_table_id, h.owner, h.lease_token, l.token, l.holder, l.expires_at"
                " FROM refresh_history h LEFT JOIN leases l ON l.stream_table_id = h.stream_table_id"
                " WHERE h.status = 'RUNNING' ORDER BY h.sequence"
            ).fetchall()
            for row in running:
                same_lease = row["holder"] == row["owner"] and row["lease_token"] in {None, row["token"]}
                held = row["holder"] is not None and same_lease and row["expires_at"] > stamp
                if held and not is_dead(row["owner"]):
                    continue
                db.execute(
                    "UPDATE refresh_history SET status = 'FAILED', ended_at = ?, error_message = ?"
                    " WHERE refresh_id = ?",
                    (stamp, INTERRUPTED, row["refresh_id"]),
                )
                db.execute(
                    "UPDATE counters SET error_count = error_count + 1 WHERE stream_table_id = ?",
                    (row["stream_table_id"],),
                )
                closed.append(row["refresh_id"])
        return closed

    def prune_history(self, keep: timedelta, *, now: datetime) -> int:
        with self._write() as db:
            return db.execute(
                "DELETE FROM refresh_history WHERE started_at < ? AND status <> 'RUNNING'", (rows.moment(now - keep),)
            ).rowcount

    def reset_counters(self, stream_table_id: int) -> None:
        with self._write() as db:
            self._get(db, stream_table_id)
            db.execute("DELETE FROM counters WHERE stream_table_id = ?", (stream_table_id,))
            _insert(db, "counters", {"stream_table_id": stream_table_id})

    # Leases

    def acquire_lease(self, stream_table_id: int, holder: str, duration: timedelta, *, now: datetime) -> Lease:
        with self._write() as db:
            name = self._lease_name(db, stream_table_id)
            found = self._lease_row(db, stream_table_id)
            if found is not None and found["holder"] is not None:
                held = self._as(rows.read_lease, [found])[0]
                if held.expires_at > now and not is_dead(held.holder):
                    raise TableBusy(name=name, holder=held.holder, until=held.expires_at.isoformat(timespec="seconds"))
            token = 1 if found is None else found["token"] + 1
            values = {
                "stream_table_id": stream_table_id,
                "token": token,
                "holder": holder,
                "expires_at": rows.moment(now + duration),
                "renewed_at": rows.moment(now),
            }
            db.execute("DELETE FROM leases WHERE stream_table_id = ?", (stream_table_id,))
            _insert(db, "leases", values)
        reach(Failpoint.LEASE_TAKEN)
        return Lease(stream_table_id, token, holder, now + duration, now)

    def renew_lease(self, lease: Lease, duration: timedelta, *, now: datetime) -> Lease:
        with self._write() as db:
            self._check_fence(db, lease)
            db.execute(
                "UPDATE leases SET expires_at = ?, renewed_at = ? WHERE stream_table_id = ?",
                (rows.moment(now + duration), rows.moment(now), lease.stream_table_id),
            )
        return Lease(lease.stream_table_id, lease.token, lease.holder, now + duration, now)

    def release_lease(self, lease: Lease) -> None:
        with self._write() as db:
            db.execute(
                "UPDATE leases SET holder = NULL WHERE stream_table_id = ? AND token = ?",
                (lease.stream_table_id, lease.token),
            )

    def _check_fence(self, db: Statements, lease: Lease) -> None:
        row = self._lease_row(db, lease.stream_table_id)
        if row is None or row["token"] != lease.token or row["holder"] is None:
            raise self._lost(db, lease.stream_table_id)

    def _lost(self, db: Statements, stream_table_id: int) -> LeaseLost:
        row = self._lease_row(db, stream_table_id)
        holder = None if row is None else row["holder"]
        holder = holder or "another process, which has released it since,"
        return LeaseLost(name=self._lease_name(db, stream_table_id), holder=holder)

    def _lease_name(self, db: Statements, stream_table_id: int) -> str:
        return "the scheduler" if stream_table_id == SCHEDULER else str(self._get(db, stream_table_id).name)

    # The scheduler

    def release_all(self, holder: str) -> int:
        with self._write() as db:
            return db.execute("UPDATE leases SET holder = NULL WHERE holder = ?", (holder,)).rowcount

    def record_alert(self, alert: Alert) -> None:
        with self._write() as db:
            _insert(db, "alerts", {**rows.write_alert(alert), "sequence": _next(db, "last_alert")})
            self._database.announce(db, alert)

    def prune_alerts(self, keep: timedelta, *, now: datetime) -> int:
        with self._write() as db:
            return db.execute("DELETE FROM alerts WHERE at < ?", (rows.moment(now - keep),)).rowcount

    def add_subscriber(self, subscriber: Subscriber) -> None:
        with self._write() as db:
            held = db.execute("SELECT stream_table FROM subscriptions WHERE name = ?", (subscriber.name,)).fetchone()
            if held is not None:
                raise SubscriptionExists(name=subscriber.name, stream_table=held["stream_table"])
            _insert(db, "subscriptions", rows.write_subscriber(subscriber))

    def acknowledge(self, name: str, lsn: int, *, now: datetime) -> None:
        with self._write() as db:
            if not db.execute("SELECT 1 FROM subscriptions WHERE name = ?", (name,)).fetchone():
                raise SubscriptionNotFound(name=name)
            db.execute(
                "UPDATE subscriptions SET acknowledged = ?, acknowledged_at = ? WHERE name = ? AND acknowledged < ?",
                (lsn, rows.moment(now), name, lsn),
            )

    def drop_subscriber(self, name: str) -> None:
        with self._write() as db:
            if db.execute("DELETE FROM subscriptions WHERE name = ?", (name,)).rowcount == 0:
                raise SubscriptionNotFound(name=name)

    def append_journal(self, commits: Sequence[JournalEntry]) -> None:
        with self._write() as db:
            last = int(db.execute("SELECT number FROM meta WHERE key = 'last_position'").fetchone()["number"])
            for each in commits:
                known = "SELECT 1 FROM journal WHERE table_id = ? AND version >= ?"
                if db.execute(known, (each.table_id, each.version)).fetchone():
                    continue
                _insert(
                    db,
                    "journal",
                    {
                        "position": last + 1,
                        "events": each.events,
                        "table_id": each.table_id,
                        "stream_table": each.stream_table,
                        "version": each.version,
                        "first_lsn": each.first_lsn,
                    },
                )
                last += each.events
            db.execute("UPDATE meta SET number = ? WHERE key = 'last_position'", (last,))

    def prune_journal(self, table_id: str, before: int) -> int:
        with self._write() as db:
            # The newest entry stays: it says which versions have had their place.
            return db.execute(
                "DELETE FROM journal WHERE table_id = ? AND version < ? "
                "AND version < (SELECT max(version) FROM journal WHERE table_id = ?)",
                (table_id, before, table_id),
            ).rowcount

    def set_paused(self, paused: bool) -> None:
        with self._write() as db:
            db.execute("UPDATE meta SET number = ? WHERE key = 'paused'", (int(paused),))

    # Whose catalog it is

    def record_owner(self, before: WarehouseIdentity | None, after: WarehouseIdentity, former: str | None) -> None:
        with self._write() as db:
            ownership.record_owner(db, before, after, former)

    def begin_copy(self, original: WarehouseIdentity, copy: WarehouseIdentity) -> str:
        with self._write() as db:
            return ownership.begin_copy(db, original, copy)

    def finish_copy(self, copy: WarehouseIdentity, former: str, *, now: datetime) -> None:
        with self._write() as db:
            ownership.finish_copy(db, copy, former, now)

    # Plain tables, views and schemas

    def remember_table(self, table: KnownTable) -> None:
        where = "WHERE schema_name = ? AND table_name = ?"
        with self._write() as db:
            old = db.execute(f"SELECT sequence FROM known_tables {where}", (table.schema, table.table)).fetchone()
            values = {
                "schema_name": table.schema,
                "table_name": table.table,
                "kind": table.kind.value,
                # A replaced view keeps its place, because others may have been built on it.
                "sequence": _next(db, "last_known") if old is None else old["sequence"],
                "path": None if table.path is None else self._places.kept(table.path),
                "create_text": table.text,
                "provider": table.provider,
            }
            db.execute(f"DELETE FROM known_tables {where}", (table.schema, table.table))
            _insert(db, "known_tables", values)

    def forget_table(self, name: TableName) -> None:
        with self._write() as db:
            db.execute(
                "DELETE FROM known_tables WHERE schema_name = ? AND table_name = ? AND kind <> ?",
                (name.schema, name.table, KnownKind.SCHEMA.value),
            )

    def forget_schema(self, schema: str) -> None:
        with self._write() as db:
            db.execute("DELETE FROM known_tables WHERE schema_name = ?", (schema,))


def _insert(db: Statements, table: str, values: Mapping[str, Any]) -> None:
    marks = ", ".join("?" for _ in values)
    db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def _update(db: Statements, stream_table_id: int, now: datetime, changes: Mapping[str, Any]) -> None:
    changed = {**changes, "updated_at": rows.moment(now)}
    assignments = ", ".join(f"{column} = ?" for column in changed)
    db.execute(f"UPDATE stream_tables SET {assignments} WHERE id = ?", (*changed.values(), stream_table_id))


def _next(db: Statements, key: str) -> int:
    row = db.execute("UPDATE meta SET number = number + 1 WHERE key = ? RETURNING number", (key,)).fetchone()
    return int(row["number"])


def _bump_dag(db: Statements, name: str, expected: int | None = None) -> None:
    number = _next(db, "dag_version")
    if expected is not None and number != expected + 1:
        raise CommitConflict(name=name, why="the graph of stream tables was changed meanwhile")


def _ask_for_rebuild(db: Statements, which: str, value: int | str, reason: str, now: datetime) -> None:
    # The column holds a small integer, and counts around before it is full.
    db.execute(
        "UPDATE stream_tables SET needs_reinit = needs_reinit % 30000 + 1, reinit_reason = ?, updated_at = ?"
        f" WHERE {which}",
        (reason, rows.moment(now), value),
    )


def _follow_new_storage(db: Statements, old: StreamTableMeta, table_id: str, now: datetime) -> None:
    readers = "id IN (SELECT stream_table_id FROM dependencies WHERE source_id = ?)"
    _ask_for_rebuild(db, readers, old.table_id, f"the storage of {old.name} was replaced", now)
    db.execute("UPDATE dependencies SET source_id = ? WHERE source_id = ?", (table_id, old.table_id))


def _add_to_history(db: Statements, record: RefreshRecord) -> None:
    _insert(db, "refresh_history", {**rows.write_refresh(record), "sequence": _next(db, "last_refresh")})


def _count(db: Statements, record: RefreshRecord) -> None:
    completed = record.status is RefreshStatus.COMPLETED
    duration = record.ended_at - record.started_at if completed and record.ended_at else timedelta(0)
    lag = record.lag_before if completed else None
    lag_ms = None if lag is None else _milliseconds(lag)
    db.execute(
        "UPDATE counters SET refresh_count = refresh_count + ?,"
        " total_refresh_duration_ms = total_refresh_duration_ms + ?,"
        " rows_inserted_total = rows_inserted_total + ?, rows_deleted_total = rows_deleted_total + ?,"
        " skip_count = skip_count + ?, error_count = error_count + ?, last_lag_ms = COALESCE(?, last_lag_ms),"
        " max_lag_ms = CASE WHEN ? > max_lag_ms THEN ? ELSE max_lag_ms END WHERE stream_table_id = ?",
        (
            int(completed),
            _milliseconds(duration),
            record.rows_inserted if completed else 0,
            record.rows_deleted if completed else 0,
            int(record.status is RefreshStatus.SKIPPED),
            int(record.status is RefreshStatus.FAILED),
            lag_ms,
            lag_ms,
            lag_ms,
            record.stream_table_id,
        ),
    )


def _milliseconds(duration: timedelta) -> int:
    # A clock that was set back must not make a total shrink.
    return max(0, duration // timedelta(milliseconds=1))
