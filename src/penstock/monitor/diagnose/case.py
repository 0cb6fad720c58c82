"""Everything that a diagnosis looks at, gathered once: plain values, so that each finding is a pure function of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from penstock.catalog.model import Lease, RefreshRecord, StreamTableMeta
from penstock.layout.retention import Holding


@dataclass(frozen=True, slots=True)
class PendingSource:
    """One source of a stream table: how far it has moved on since the frontier, or why it cannot be read."""

    name: str
    version: int | None = None
    """Where the frontier stands."""
    newest: int | None = None
    rows: int = 0
    """Change rows since then, as the log counts them."""
    missing: str | None = None
    advice: str = ""
    """What to do about that, if it is anything but gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One stream table as it stands now."""

    meta: StreamTableMeta
    now: datetime
    allowed: timedelta
    """The lag that it promises, its own or that of its consumers."""
    warnings: tuple[str, ...] = ()
    """What its lag costs without its owner having asked for it."""
    enabled: bool = True
    max_errors: int = 3
    paused: bool = False
    scheduler: Lease | None = None
    """The lease of the scheduler, if one is running."""
    lease: Lease | None = None
    """The lease of a worker that is refreshing it now."""
    history: tuple[RefreshRecord, ...] = ()
    """The newest first."""
    sources: tuple[PendingSource, ...] = ()
    quiet: bool = False
    """True if nothing happened to what it reads itself since its frontier, and time alone changes nothing."""
    rebuild: tuple[str, str] | None = None
    """Reason code and text, if the next refresh has to rebuild it."""
    circle: str | None = None
    """The way on which it reads itself, if it does."""
    storage_lost: str | None = None
    foreign: tuple[str, ...] = ()
    """What others did to its storage without moving rows."""
    holdings: tuple[Holding, ...] = ()
    refusal: tuple[str, str, str] | None = None
    """Why its query has no delta rule, if it has none: reason code, what stands in the way, what would help."""
    opaque: tuple[str, ...] = ()
    """Functions of its query whose code cannot be watched."""
    upstreams: tuple[Case, ...] = field(default=())

    @property
    def name(self) -> str:
        return str(self.meta.name)

    @property
    def behind(self) -> timedelta | None:
        """How old its rows are; None if it was never filled."""
        stamp = self.meta.data_timestamp
        return None if stamp is None else max(self.now - stamp, timedelta(0))

    @property
    def stale(self) -> bool:
        """True if it was never filled, or if its rows are older than allowed and may no longer be right."""
        return self.behind is None or (self.behind > self.allowed and not self.unchanged)

    @property
    def pending(self) -> tuple[PendingSource, ...]:
        """The sources that moved since its frontier."""
        return tuple(each for each in self.sources if each.newest is not None and each.newest != each.version)

    @property
    def unchanged(self) -> bool:
        """True if nothing that its rows come from has changed, through all its upstreams to the base tables."""
        return self.quiet and all(each.unchanged for each in self.upstreams)

    @property
    def runs(self) -> tuple[RefreshRecord, ...]:
        """The refreshes that computed something, newest first."""
        return tuple(
            each for each in self.history if each.status == "COMPLETED" and each.action not in {"NO_DATA", "SKIP"}
        )
