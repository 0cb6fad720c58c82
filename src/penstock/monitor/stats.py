"""Statistics: the totals of every stream table since its creation or the last reset."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from penstock.catalog.model import Counters
from penstock.catalog.reader import CatalogReader


@dataclass(frozen=True, slots=True)
class StatsRow:
    """What one stream table has done so far."""

    name: str
    schema: str
    refresh_count: int
    total_refresh_duration_ms: int
    rows_inserted_total: int
    rows_deleted_total: int
    skip_count: int
    error_count: int
    last_lag_ms: int
    max_lag_ms: int

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def stats(catalog: CatalogReader) -> list[StatsRow]:
    """Every stream table, by name."""
    totals = {each.stream_table_id: each for each in catalog.all_counters()}
    found = []
    for meta in catalog.get_all():
        held = asdict(totals.get(meta.id, Counters(stream_table_id=meta.id)))
        del held["stream_table_id"]
        found.append(StatsRow(name=str(meta.name), schema=meta.name.schema, **held))
    return found
