"""What the catalog holds, as plain values.

    INITIALIZING ──→ ACTIVE ⇄ SUSPENDED
          ⇅            ⇅        ⇅
          └───────── ERROR ─────┘

Every value here is frozen: a row is read, and changed only through `CatalogWriter`. Moments are aware datetimes in UTC.
The catalog is a copy for speed; the truth about rows and frontier is the newest commit of the stream table itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Final, Literal

from penstock.names import Frontier, TableName


class Unset(Enum):
    """`UNSET` = leave as it is; needed because None means DOWNSTREAM for a target lag."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
UnsetType = Literal[Unset.UNSET]


class RefreshMode(StrEnum):
    """How the user wants a stream table to be maintained."""

    AUTO = "AUTO"
    INCREMENTAL = "INCREMENTAL"
    FULL = "FULL"


class Status(StrEnum):
    """Where a stream table is in its life."""

    INITIALIZING = "INITIALIZING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    ERROR = "ERROR"

    def may_become(self, other: Status) -> bool:
        """True if a stream table of this status may take the other; staying is always allowed.

        >>> Status.SUSPENDED.may_become(Status.ACTIVE), Status.ACTIVE.may_become(Status.INITIALIZING)
        (True, False)
        """
        return other is self or other in _TRANSITIONS[self]


_TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.INITIALIZING: frozenset({Status.ACTIVE, Status.SUSPENDED, Status.ERROR}),
    # A filled table is rebuilt under `needs_reinit` and stays readable; it never becomes INITIALIZING again.
    Status.ACTIVE: frozenset({Status.SUSPENDED, Status.ERROR}),
    Status.SUSPENDED: frozenset({Status.ACTIVE, Status.INITIALIZING, Status.ERROR}),
    Status.ERROR: frozenset({Status.ACTIVE, Status.INITIALIZING, Status.SUSPENDED}),
}


class Action(StrEnum):
    """What a refresh really did."""

    NO_DATA = "NO_DATA"
    INCREMENTAL = "INCREMENTAL"
    FULL = "FULL"
    REINITIALIZE = "REINITIALIZE"
    SKIP = "SKIP"


class RefreshStatus(StrEnum):
    """How a refresh ended, or that it has not."""

    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


class SourceType(StrEnum):
    """What a stream table reads."""

    TABLE = "TABLE"
    STREAM_TABLE = "STREAM_TABLE"
    VIEW = "VIEW"


class KnownKind(StrEnum):
    """What has to be registered again in the next Spark session."""

    SCHEMA = "SCHEMA"
    TABLE = "TABLE"
    VIEW = "VIEW"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTableMeta:
    """One stream table. `id` is 0 until the catalog has given one; ids are never reused."""

    name: TableName
    table_id: str
    """The uuid in the metaData action of the storage's Delta log: identity, whatever the path."""
    path: str
    query: str
    definition_hash: str
    id: int = 0
    database: str = "default"
    settings: Mapping[str, str] = field(default_factory=dict)
    """Every Spark setting that can change the result, as it was when the stream table was defined."""
    target_lag: timedelta | None = None
    """None = DOWNSTREAM."""
    refresh_mode: RefreshMode = RefreshMode.AUTO
    key: tuple[str, ...] = ()
    status: Status = Status.INITIALIZING
    is_populated: bool = False
    data_timestamp: datetime | None = None
    frontier: Frontier | None = None
    frontier_version: int | None = None
    """The storage version that `frontier` is tagged with; against any other newest version of ours it is stale."""
    last_lsn: int | None = None
    """The position that the changelog had reached with the newest commit; None if no refresh has recorded it."""
    effective_mode: RefreshMode | None = None
    reason_code: str | None = None
    reason: str | None = None
    reinit_requests: int = 0
    """Requests for a rebuild since the last one that had seen them; only whether the number changed says anything."""
    reinit_reason: str | None = None
    consecutive_errors: int = 0
    last_error: str | None = None
    last_refresh_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def needs_reinit(self) -> bool:
        """A rebuild was asked for."""
        return self.reinit_requests > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One thing that a stream table reads. `source_id` is the Delta table id, so a renamed source stays the same."""

    source_id: str
    source_name: str
    source_type: SourceType
    stream_table_id: int = 0
    source_path: str | None = None
    source_kind: str = "delta"
    columns_used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRecord:
    """One line of history: what was tried, what really ran, and why."""

    refresh_id: str
    stream_table_id: int
    name: str
    action: Action
    status: RefreshStatus
    started_at: datetime
    reason: str | None = None
    data_timestamp: datetime | None = None
    ended_at: datetime | None = None
    from_frontier: Frontier | None = None
    to_frontier: Frontier | None = None
    commit_version: int | None = None
    rows_inserted: int = 0
    rows_deleted: int = 0
    delta_rows: int | None = None
    rows_read: int | None = None
    rows_at_rest: int | None = None
    """Rows of all tables that the query reads; `rows_read` is to be compared with it."""
    rows_written: int | None = None
    delta_bytes: int | None = None
    """Bytes of the files that hold the changes; the next three are the bytes beside the rows above."""
    bytes_read: int | None = None
    bytes_at_rest: int | None = None
    bytes_written: int | None = None
    operators: tuple[str, ...] = ()
    """What the query consists of, and how its result is stored."""
    applier: str | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds per stage."""
    error_message: str | None = None
    owner: str | None = None
    lease_token: int | None = None
    """The fencing token the work ran under; tells an interrupted row from one that still runs."""

    @property
    def seconds(self) -> float | None:
        """How long it took, from beginning to end; None while it runs."""
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds()

    @property
    def lag_before(self) -> timedelta | None:
        """How old the stored rows were when this refresh replaced them: the most a reader has seen."""
        before = self.from_frontier.data_timestamp if self.from_frontier else None
        return None if before is None or self.ended_at is None else self.ended_at - before


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTable:
    """A plain schema, table or view of the warehouse, to be registered again in the next process."""

    schema: str
    kind: KnownKind
    table: str = ""
    """Empty for a schema."""
    path: str | None = None
    text: str | None = None
    """The statement that creates a view; of a table, MANAGED if its files go with it."""
    provider: str | None = None

    def __post_init__(self) -> None:
        if (self.kind is KnownKind.SCHEMA) != (self.table == ""):
            raise ValueError("a table or view has a table name, a schema has none")

    @property
    def name(self) -> str:
        """`schema` or `schema.table`."""
        return f"{self.schema}.{self.table}" if self.table else self.schema


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one stream table until `expires_at`. A later lease has a larger token."""

    stream_table_id: int
    token: int
    holder: str
    expires_at: datetime
    renewed_at: datetime


SCHEDULER: Final = 0
"""The id under which the one scheduler of a catalog holds its lease; no stream table has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Totals since creation or the last reset; unlike history they are never pruned."""

    stream_table_id: int
    refresh_count: int = 0
    total_refresh_duration_ms: int = 0
    rows_inserted_total: int = 0
    rows_deleted_total: int = 0
    skip_count: int = 0
    error_count: int = 0
    last_lag_ms: int = 0
    max_lag_ms: int = 0


@dataclass(frozen=True, slots=True)
class Advance:
    """A frontier that moves without a row changing."""

    stream_table_id: int
    before: Frontier
    after: Frontier


class AlertEvent(StrEnum):
    """What alerts report."""

    LAG_EXCEEDED = "lag_exceeded"
    LAG_RECOVERED = "lag_recovered"
    AUTO_SUSPENDED = "auto_suspended"
    RESUMED = "resumed"
    REINITIALIZE_NEEDED = "reinitialize_needed"
    BUFFER_LAG_WARNING = "buffer_lag_warning"
    RETENTION_WARNING = "retention_warning"
    REFRESH_FAILED = "refresh_failed"
    MODE_CHANGED = "mode_changed"
    FALLING_BEHIND = "falling_behind"
    NAME_TAKEN = "name_taken"

    @property
    def is_good_news(self) -> bool:
        """True if it needs no action of a person."""
        return self in {AlertEvent.LAG_RECOVERED, AlertEvent.RESUMED, AlertEvent.MODE_CHANGED}


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that happened to one stream table, with the facts that belong to it."""

    event: AlertEvent
    stream_table: str
    at: datetime
    facts: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """`event`, `st`, `at`, and the facts beside them."""
        return {"event": self.event.value, "st": self.stream_table, "at": self.at.isoformat(), **self.facts}


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A durable subscription: which changelog it reads, and how far its reader says that it has got."""

    name: str
    table_id: str
    stream_table: str
    acknowledged: int
    """The LSN up to which everything was taken over."""
    created_at: datetime
    acknowledged_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WarehouseIdentity:
    """Which warehouse it is, and where it was opened last: its folder, symbolic links followed, and the machine."""

    id: str
    place: str
    host: str
    copy_of: str = ""
    """The folder that it was copied from; empty if it is no copy."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """The events of one commit in the order of all stream tables: `events` places from `position` on."""

    position: int
    events: int
    table_id: str
    stream_table: str
    version: int
    first_lsn: int

    @property
    def last(self) -> int:
        """The position of its last event."""
        return self.position + self.events - 1
