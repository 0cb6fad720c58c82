"""Catalog values as database rows and back: `read(write(x)) == x` for every value.

Moments are stored as ISO-8601 text in UTC with microseconds, all of the same width: text order is time order.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.catalog.database import Row
from penstock.catalog.model import (
    Action,
    Alert,
    AlertEvent,
    Counters,
    Dependency,
    JournalEntry,
    KnownKind,
    KnownTable,
    Lease,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    SourceType,
    Status,
    StreamTableMeta,
    Subscriber,
    WarehouseIdentity,
)
from penstock.errors import InternalError
from penstock.names import Frontier, TableName
from penstock.places import Places, is_written_out


def moment(value: datetime) -> str:
    """The stored form of a moment."""
    if value.tzinfo is None:
        raise InternalError(why=f"{value} has no time zone")
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def _maybe_moment(value: datetime | None) -> str | None:
    return None if value is None else moment(value)


def _from_moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def frontier_text(frontier: Frontier | None) -> str | None:
    """The stored form of a frontier."""
    return None if frontier is None else frontier.dumps()


def frontier_value(text: str | None) -> Frontier | None:
    """The frontier of a stored form."""
    return None if text is None else Frontier.from_json(text)


def json_text(value: object) -> str:
    """Lists and mappings as JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def lag_seconds(lag: timedelta | None) -> float | None:
    """The stored form of a target lag."""
    return None if lag is None else lag.total_seconds()


def write_stream_table(meta: StreamTableMeta, places: Places) -> dict[str, Any]:
    """One stream table as column → value; the database sets `id`, `created_at` and `updated_at`."""
    return {
        "catalog": meta.name.catalog,
        "schema_name": meta.name.schema,
        "table_name": meta.name.table,
        "table_id": meta.table_id,
        "path": places.kept(meta.path),
        "query": meta.query,
        "database_name": meta.database,
        "settings": json_text(dict(meta.settings)),
        "target_lag_seconds": lag_seconds(meta.target_lag),
        "refresh_mode": meta.refresh_mode.value,
        "key_columns": json_text(list(meta.key)),
        "definition_hash": meta.definition_hash,
        "status": meta.status.value,
        "is_populated": int(meta.is_populated),
        "data_timestamp": _maybe_moment(meta.data_timestamp),
        "frontier": frontier_text(meta.frontier),
        "frontier_version": meta.frontier_version,
        "last_lsn": meta.last_lsn,
        "effective_mode": meta.effective_mode.value if meta.effective_mode else None,
        "reason_code": meta.reason_code,
        "reason": meta.reason,
        "needs_reinit": meta.reinit_requests,
        "reinit_reason": meta.reinit_reason,
        "consecutive_errors": meta.consecutive_errors,
        "last_error": meta.last_error,
        "last_refresh_at": _maybe_moment(meta.last_refresh_at),
    }


def read_stream_table(row: Row, places: Places) -> StreamTableMeta:
    """One stream table from its row."""
    lag = row["target_lag_seconds"]
    return StreamTableMeta(
        id=row["id"],
        name=TableName(row["schema_name"], row["table_name"], row["catalog"]),
        table_id=row["table_id"],
        path=places.real(row["path"]),
        query=row["query"],
        database=row["database_name"],
        settings=json.loads(row["settings"]),
        target_lag=None if lag is None else timedelta(seconds=lag),
        refresh_mode=RefreshMode(row["refresh_mode"]),
        key=tuple(json.loads(row["key_columns"])),
        definition_hash=row["definition_hash"],
        status=Status(row["status"]),
        is_populated=bool(row["is_populated"]),
        data_timestamp=_from_moment(row["data_timestamp"]),
        frontier=frontier_value(row["frontier"]),
        frontier_version=row["frontier_version"],
        last_lsn=row["last_lsn"],
        effective_mode=RefreshMode(row["effective_mode"]) if row["effective_mode"] else None,
        reason_code=row["reason_code"],
        reason=row["reason"],
        reinit_requests=row["needs_reinit"],
        reinit_reason=row["reinit_reason"],
        consecutive_errors=row["consecutive_errors"],
        last_error=row["last_error"],
        last_refresh_at=_from_moment(row["last_refresh_at"]),
        created_at=_from_moment(row["created_at"]),
        updated_at=_from_moment(row["updated_at"]),
    )


def write_dependency(stream_table_id: int, dependency: Dependency, places: Places) -> dict[str, Any]:
    """One dependency as column → value, owned by the given stream table."""
    return {
        "stream_table_id": stream_table_id,
        "source_id": dependency.source_id,
        "source_name": dependency.source_name,
        "source_path": kept_source(dependency.source_name, dependency.source_path, places),
        "source_type": dependency.source_type.value,
        "source_kind": dependency.source_kind,
        "columns_used": json_text(list(dependency.columns_used)),
    }


def kept_source(name: str, path: str | None, places: Places) -> str | None:
    """The stored form of a source's path."""
    return path if path is None or is_written_out(name) else places.kept(path)


def read_dependency(row: Row, places: Places) -> Dependency:
    """One dependency from its row."""
    return Dependency(
        stream_table_id=row["stream_table_id"],
        source_id=row["source_id"],
        source_name=row["source_name"],
        source_path=None if row["source_path"] is None else places.real(row["source_path"]),
        source_type=SourceType(row["source_type"]),
        source_kind=row["source_kind"],
        columns_used=tuple(json.loads(row["columns_used"])),
    )


def write_refresh(record: RefreshRecord) -> dict[str, Any]:
    """One line of history as column → value."""
    return {
        "refresh_id": record.refresh_id,
        "stream_table_id": record.stream_table_id,
        "name": record.name,
        "action": record.action.value,
        "status": record.status.value,
        "started_at": moment(record.started_at),
        "reason": record.reason,
        "data_timestamp": _maybe_moment(record.data_timestamp),
        "ended_at": _maybe_moment(record.ended_at),
        "from_frontier": frontier_text(record.from_frontier),
        "to_frontier": frontier_text(record.to_frontier),
        "commit_version": record.commit_version,
        "rows_inserted": record.rows_inserted,
        "rows_deleted": record.rows_deleted,
        "delta_rows": record.delta_rows,
        "rows_read": record.rows_read,
        "rows_at_rest": record.rows_at_rest,
        "rows_written": record.rows_written,
        "delta_bytes": record.delta_bytes,
        "bytes_read": record.bytes_read,
        "bytes_at_rest": record.bytes_at_rest,
        "bytes_written": record.bytes_written,
        "operators": json_text(list(record.operators)),
        "applier": record.applier,
        "timings": json_text(dict(record.timings)),
        "error_message": record.error_message,
        "owner": record.owner,
        "lease_token": record.lease_token,
    }


def read_refresh(row: Row) -> RefreshRecord:
    """One line of history from its row."""
    return RefreshRecord(
        refresh_id=row["refresh_id"],
        stream_table_id=row["stream_table_id"],
        name=row["name"],
        action=Action(row["action"]),
        status=RefreshStatus(row["status"]),
        started_at=datetime.fromisoformat(row["started_at"]),
        reason=row["reason"],
        data_timestamp=_from_moment(row["data_timestamp"]),
        ended_at=_from_moment(row["ended_at"]),
        from_frontier=frontier_value(row["from_frontier"]),
        to_frontier=frontier_value(row["to_frontier"]),
        commit_version=row["commit_version"],
        rows_inserted=row["rows_inserted"],
        rows_deleted=row["rows_deleted"],
        delta_rows=row["delta_rows"],
        rows_read=row["rows_read"],
        rows_at_rest=row["rows_at_rest"],
        rows_written=row["rows_written"],
        delta_bytes=row["delta_bytes"],
        bytes_read=row["bytes_read"],
        bytes_at_rest=row["bytes_at_rest"],
        bytes_written=row["bytes_written"],
        operators=tuple(json.loads(row["operators"])),
        applier=row["applier"],
        timings=json.loads(row["timings"]),
        error_message=row["error_message"],
        owner=row["owner"],
        lease_token=row["lease_token"],
    )


def read_counters(row: Row) -> Counters:
    """The totals of one stream table from their row."""
    return Counters(
        stream_table_id=row["stream_table_id"],
        refresh_count=row["refresh_count"],
        total_refresh_duration_ms=row["total_refresh_duration_ms"],
        rows_inserted_total=row["rows_inserted_total"],
        rows_deleted_total=row["rows_deleted_total"],
        skip_count=row["skip_count"],
        error_count=row["error_count"],
        last_lag_ms=row["last_lag_ms"],
        max_lag_ms=row["max_lag_ms"],
    )


def read_lease(row: Row) -> Lease:
    """A held lease from its row."""
    return Lease(
        row["stream_table_id"],
        row["token"],
        row["holder"],
        datetime.fromisoformat(row["expires_at"]),
        datetime.fromisoformat(row["renewed_at"]),
    )


def read_known_table(row: Row, places: Places) -> KnownTable:
    """A known schema, table or view from its row."""
    return KnownTable(
        schema=row["schema_name"],
        kind=KnownKind(row["kind"]),
        table=row["table_name"],
        path=None if row["path"] is None else places.real(row["path"]),
        text=row["create_text"],
        provider=row["provider"],
    )


def write_alert(alert: Alert) -> dict[str, Any]:
    """An alert as column → value."""
    return {
        "at": moment(alert.at),
        "event": alert.event.value,
        "stream_table": alert.stream_table,
        "facts": json_text(dict(alert.facts)),
    }


def read_alert(row: Row) -> Alert:
    """An alert from its row."""
    return Alert(
        AlertEvent(row["event"]), row["stream_table"], datetime.fromisoformat(row["at"]), json.loads(row["facts"])
    )


def write_subscriber(subscriber: Subscriber) -> dict[str, Any]:
    """A durable subscription as column → value."""
    return {
        "name": subscriber.name,
        "table_id": subscriber.table_id,
        "stream_table": subscriber.stream_table,
        "acknowledged": subscriber.acknowledged,
        "created_at": moment(subscriber.created_at),
        "acknowledged_at": _maybe_moment(subscriber.acknowledged_at),
    }


def read_subscriber(row: Row) -> Subscriber:
    """A durable subscription from its row."""
    return Subscriber(
        name=row["name"],
        table_id=row["table_id"],
        stream_table=row["stream_table"],
        acknowledged=int(row["acknowledged"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        acknowledged_at=_from_moment(row["acknowledged_at"]),
    )


def read_journal_entry(row: Row) -> JournalEntry:
    """A journal entry from its row."""
    return JournalEntry(
        position=int(row["position"]),
        events=int(row["events"]),
        table_id=row["table_id"],
        stream_table=row["stream_table"],
        version=int(row["version"]),
        first_lsn=int(row["first_lsn"]),
    )


def read_identity(row: Row) -> WarehouseIdentity:
    """Whose catalog this is, from its row."""
    return WarehouseIdentity(row["id"], row["place"], row["host"], row["copy_of"])
