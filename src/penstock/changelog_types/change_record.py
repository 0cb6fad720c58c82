"""A change as it is kept in logs and sent to copies: one JSON object per change.

Keys are in byte order, integers exact. The kind is written as consumers see it (`item_kind.py`), so it does not come
back as it was. Reading is lenient where older writers wrote less (names, defaults, unknown keys), and strict where a
mistake would change what is applied: operation, bytes, and the rows of a refresh.
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import UNSET

from penstock.changelog_types.entity import JSON_FORMAT, Entity
from penstock.changes.ring.item_kind import public_item_kind
from penstock.changes.wire.canonical_json import EXACT_DOUBLE, canonical_json
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.errors import InvalidChangeRecord

DEFAULT_REPLICATION_TERM: Final = 1

_LARGEST: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One record of the log."""

    term: int
    """Rises when another writer takes over; see `apply_state.py`."""
    lsn: int
    timestamp: int
    """Unix milliseconds."""
    operation: ChangeOperation
    collection: str
    entity_id: int
    entity_kind: str
    entity_bytes: bytes | None = None
    metadata: Any = UNSET
    """A JSON value; null is one too, so what is absent is UNSET."""
    refresh_records: tuple[bytes, ...] | None = None
    """Of a refresh: the new rows, in the order in which a copy inserts them after it has dropped the old ones."""

    @classmethod
    def from_entity(
        cls,
        lsn: int,
        timestamp: int,
        operation: ChangeOperation,
        collection: str,
        entity_kind: str,
        entity: Entity,
        format_version: int = JSON_FORMAT,
        metadata: Any = UNSET,
    ) -> ChangeRecord:
        """A change of one row. Only inserts and updates carry it."""
        carries = operation in (ChangeOperation.INSERT, ChangeOperation.UPDATE)
        return cls(
            DEFAULT_REPLICATION_TERM,
            lsn,
            timestamp,
            operation,
            collection,
            entity.id,
            entity_kind,
            entity.serialize(format_version) if carries else None,
            metadata,
        )

    @classmethod
    def for_refresh(cls, lsn: int, timestamp: int, collection: str, records: Sequence[bytes]) -> ChangeRecord:
        """All rows of a collection, to be swapped in at once."""
        return cls(
            DEFAULT_REPLICATION_TERM,
            lsn,
            timestamp,
            ChangeOperation.REFRESH,
            collection,
            entity_id=0,
            entity_kind="refresh",
            refresh_records=tuple(records),
        )

    def with_term(self, term: int) -> ChangeRecord:
        """The same record under another term."""
        return replace(self, term=term)

    def to_json_value(self) -> dict[str, Any]:
        """The record as plain data."""
        value: dict[str, Any] = {
            "collection": self.collection,
            "kind": public_item_kind(self.entity_kind),
            "lsn": self.lsn,
            "operation": self.operation.as_str(),
            "rid": self.entity_id,
            "term": self.term,
            "timestamp": self.timestamp,
        }
        if self.entity_bytes is not None:
            value["entity_bytes_hex"] = self.entity_bytes.hex()
        if self.metadata is not UNSET:
            value["metadata"] = self.metadata
        if self.refresh_records is not None:
            value["refresh_records_hex"] = [each.hex() for each in self.refresh_records]
        return value

    def encode(self) -> bytes:
        """The record as JSON. A value that cannot be written is refused: no reader would understand an empty object."""
        return canonical_json(self.to_json_value())

    @classmethod
    def decode(cls, data: bytes) -> ChangeRecord:
        """Read a record of this or an earlier writer."""
        value = _object(data)
        operation = value.get("operation")
        known = ChangeOperation.from_str(operation) if isinstance(operation, str) else None
        if known is None:
            raise InvalidChangeRecord(why="invalid replication operation")
        entity_hex = value.get("entity_bytes_hex")
        collection = value.get("collection")
        kind = value.get("kind", value.get("entity_kind"))
        return cls(
            term=_unsigned(value.get("term"), DEFAULT_REPLICATION_TERM),
            lsn=_unsigned(value.get("lsn"), 0),
            timestamp=_unsigned(value.get("timestamp"), 0),
            operation=known,
            collection=collection if isinstance(collection, str) else "",
            entity_id=_unsigned(value.get("rid", value.get("entity_id")), 0),
            entity_kind=kind if isinstance(kind, str) else "entity",
            entity_bytes=_bytes(entity_hex) if isinstance(entity_hex, str) else None,
            metadata=value.get("metadata", UNSET),
            refresh_records=_refresh_records(value.get("refresh_records_hex")),
        )


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(str(data, "utf-8"))
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise InvalidChangeRecord(why=str(error)) from error
    return value if isinstance(value, dict) else {}


def _unsigned(value: Any, default: int) -> int:
    """An integer of 64 bits; writers that keep numbers as doubles may have given it a fraction of zero."""
    if isinstance(value, float) and value.is_integer() and value <= EXACT_DOUBLE:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    return default


def _bytes(text: str) -> bytes:
    try:
        return unhexlify(text)
    except ValueError as error:
        raise InvalidChangeRecord(why=str(error)) from error


def _refresh_records(value: Any) -> tuple[bytes, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise InvalidChangeRecord(why="refresh_records_hex is not an array")
    return tuple(map(_refresh_record, value))


def _refresh_record(value: Any) -> bytes:
    if not isinstance(value, str):
        raise InvalidChangeRecord(why="refresh_records_hex entry not a string")
    return _bytes(value)
