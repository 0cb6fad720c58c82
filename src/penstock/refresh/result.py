"""What a refresh reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.catalog.model import Action, StreamTableMeta
from penstock.errors import PenstockError
from penstock.names import Frontier


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """What really ran, why, and what it changed; or with an `error`, what was to run and changed nothing."""

    name: str
    action: Action
    reason_code: str | None
    reason: str | None
    rows_inserted: int
    rows_deleted: int
    frontier: Frontier | None
    data_timestamp: datetime | None
    version: int | None
    """The storage version that shows this state."""
    seconds: float
    timings: Mapping[str, float] = field(default_factory=dict)
    delta_rows: int | None = None
    rows_read: int | None = None
    """Rows of the data files that were read, as their tables' logs count them; None if a log does not."""
    rows_at_rest: int | None = None
    """Rows of all tables that the query reads."""
    applier: str | None = None
    upstream: tuple[RefreshResult, ...] = ()
    error: PenstockError | None = None
    """Only `tick` and `refresh_all` return it; `refresh` raises it."""

    @classmethod
    def unmoved(
        cls, meta: StreamTableMeta, action: Action, reason_code: str, reason: str, error: PenstockError | None = None
    ) -> RefreshResult:
        """A result that leaves the stream table where the catalog has it."""
        return cls(
            name=str(meta.name),
            action=action,
            reason_code=reason_code,
            reason=reason,
            rows_inserted=0,
            rows_deleted=0,
            frontier=meta.frontier,
            data_timestamp=meta.data_timestamp,
            version=meta.frontier_version,
            seconds=0.0,
            error=error,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "action": self.action.value,
            "reason_code": self.reason_code,
            "reason": self.reason,
            "rows_inserted": self.rows_inserted,
            "rows_deleted": self.rows_deleted,
            "delta_rows": self.delta_rows,
            "rows_read": self.rows_read,
            "rows_at_rest": self.rows_at_rest,
            "frontier": self.frontier.to_json() if self.frontier else None,
            "data_timestamp": self.data_timestamp.isoformat() if self.data_timestamp else None,
            "version": self.version,
            "applier": self.applier,
            "seconds": round(self.seconds, 4),
            "timings": {stage: round(seconds, 4) for stage, seconds in self.timings.items()},
            "upstream": [each.to_json() for each in self.upstream],
            "error": None if self.error is None else self.error.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a long piece of work is."""

    name: str
    stage: str
    message: str
    done: int
    total: int


Report = Callable[[Progress], None]
