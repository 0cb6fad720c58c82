"""What each version of a stream table shows: the moment it stands for, and the version of every table behind it.

Read from the commits of the stream table alone. A version without a record of its own (OPTIMIZE, a property) shows what
the one before it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from penstock.catalog.model import StreamTableMeta
from penstock.engine.write.storage_state import records
from penstock.refresh.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One version of a stream table's storage."""

    version: int
    data_timestamp: datetime | None
    sources: Mapping[str, int]
    """Table that the query reads → its version."""
    bases: Mapping[str, int]
    """Base table behind the stream tables that it reads → the version that they show."""
    action: str
    rows_inserted: int
    rows_deleted: int
    refresh_id: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "version": self.version,
            "data_timestamp": self.data_timestamp.isoformat() if self.data_timestamp else None,
            "sources": dict(self.sources),
            "bases": dict(self.bases),
            "action": self.action,
            "rows_inserted": self.rows_inserted,
            "rows_deleted": self.rows_deleted,
            "refresh_id": self.refresh_id,
        }


def version_history(warehouse: Warehouse, meta: StreamTableMeta, max_rows: int) -> list[StoredVersion]:
    """The newest versions first, as far back as the log goes."""
    names = {each.source_id: each.source_name for each in warehouse.catalog.all_dependencies()}
    return [
        StoredVersion(
            version=version,
            data_timestamp=record.data_timestamp,
            sources={names.get(source, source): held.version for source, held in record.frontier.sources.items()},
            bases={names.get(base, base): at for base, at in (record.frontier.bases or {}).items()},
            action=record.action,
            rows_inserted=record.rows_inserted,
            rows_deleted=record.rows_deleted,
            refresh_id=record.refresh_id,
        )
        for version, record in islice(records(warehouse.logs.at(meta.path)), max_rows)
    ]
