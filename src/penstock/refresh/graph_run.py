"""One run over a part of the graph, at one version vector. Pure: it says what to do next and learns how that went.

    base tables     pinned once, before anything runs
    a stream table  runs when everything upstream of it has arrived, over the storage versions that show the vector
    blocked         an upstream is suspended, failed or resting: its consumers stay where they are, never half way

So all paths to a base table agree on its version, whatever other workers do and however long a single table takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from penstock.catalog.model import Status, StreamTableMeta
from penstock.graph.dag import StreamGraph
from penstock.names import Frontier
from penstock.refresh.define import Redefinition
from penstock.refresh.result import RefreshResult
from penstock.refresh.stages.pin import Pins, Redefine
from penstock.refresh.stages.survey import Surveyed


@dataclass(frozen=True)
class GraphPart:
    """The stream tables that take part, in the order of their refreshes, and the versions of all base tables."""

    tables: Mapping[str, StreamTableMeta]
    """The stream tables that take part, by Delta table id."""
    graph: StreamGraph
    order: tuple[str, ...]
    versions: Mapping[str, int]
    """Base table → its newest version. Two kinds are left out: a table that is missing, whose readers say so with its
    name; and an id that stands for several folders, of which each reader takes the newest version of its own.
    """
    moved: Mapping[str, str] = field(default_factory=dict)
    """Base tables whose name stands for another one now, with that name."""
    copies: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Stream tables that see two folders with the id of one Delta table, with those folders."""

    def upstreams(self, key: str) -> list[str]:
        """The stream tables that one reads, directly or not, in the order of their refreshes."""
        reached = self.graph.upstream(key)
        return [each for each in self.order if each in reached] if reached & self.tables.keys() else []


@dataclass(frozen=True)
class Arrival:
    """How far one stream table came."""

    result: RefreshResult | None = None
    blocked: bool = False
    version: int | None = None
    """The storage version that its consumers read."""
    bases: Mapping[str, int] | None = None
    """Base table → the version that is shown, through whatever lies between; None if another worker went elsewhere."""


@dataclass(frozen=True)
class RefreshTo:
    """Refresh it to these pins."""

    pins: Pins


@dataclass(frozen=True)
class Skip:
    """Leave it where it is, and say why."""

    code: str
    why: str


@dataclass(frozen=True)
class StayPut:
    """Leave it where it is; the reason is noted already."""


NextStep = RefreshTo | Skip | StayPut


@dataclass
class GraphRun:
    """The stream tables of a part on their way to its version vector."""

    part: GraphPart
    wanted: frozenset[str]
    """What was asked for; everything else takes part because it is upstream of that."""
    stamp: datetime
    resting: frozenset[str] = frozenset()
    """Stream tables that are not tried now, because they have just failed."""
    redefinition: Redefinition | None = None
    """Another definition for one of them, which comes into force with its rows."""
    arrived: dict[str, Arrival] = field(default_factory=dict)
    surveyed: dict[str, Surveyed] = field(default_factory=dict)
    """Tables that were found not to be quiet, with what was found."""

    def left(self) -> list[str]:
        """What has not arrived yet, upstreams first."""
        return [key for key in self.part.order if key not in self.arrived]

    def ready(self) -> list[str]:
        """Of these, the tables whose upstreams have all arrived."""
        return [key for key in self.left() if all(each in self.arrived for each in self._direct(key))]

    def next_step(self, key: str) -> NextStep:
        """What to do with a table whose upstreams have all arrived."""
        # One further up may be on its way still: its quiet consumers have advanced at the version that was checked.
        held_up = [each for each in self.part.upstreams(key) if each in self.arrived and self.arrived[each].blocked]
        if held_up:
            names = sorted(str(self.part.tables[each].name) for each in held_up)
            return Skip("UPSTREAM_BLOCKED", f"waiting for {', '.join(names)}")
        if not self.may_run(key):
            return StayPut()
        pins = self.pins(key, self.arrived)
        if pins is None:
            why = "its upstreams show different versions of one table; another worker is ahead of this refresh"
            return Skip("INCONSISTENT_PINS", why)
        return RefreshTo(pins)

    def may_run(self, key: str) -> bool:
        """False if the table waits for a person, or for its time to try again."""
        if key in self.resting:
            return False
        return key in self.wanted or self.part.tables[key].status not in {Status.SUSPENDED, Status.ERROR}

    def definition_for(self, key: str) -> Redefine | None:
        """What gives the definition that a table is to get on the way."""
        given = self.redefinition
        return given.over if given is not None and given.table_id == key else None

    def pins(self, key: str, arrived: Mapping[str, Arrival]) -> Pins | None:
        """What a table is to be brought to; None if an upstream is not there, or two of them disagree on a base."""
        upstreams = self._direct(key)
        if any(each not in arrived for each in upstreams):
            return None
        if (copies := self.part.copies.get(key)) is not None:
            # What its upstreams show cannot agree; its refresh says why.
            return Pins(self.part.versions, self.stamp, copies=copies)
        bases = _agreed(arrived[each].bases for each in upstreams)
        if bases is None:
            return None
        shown = {each: at for each in upstreams if (at := arrived[each].version) is not None}
        versions = {**self.part.versions, **bases, **shown}
        return Pins(versions, self.stamp, bases if upstreams else None, self.part.moved)

    def arrival(
        self,
        frontier: Frontier,
        version: int | None,
        result: RefreshResult | None = None,
        strangers: frozenset[str] = frozenset(),
    ) -> Arrival:
        """A table that shows this frontier at this version of its storage.

        `strangers` are stream tables among its sources that are not of the part: it was altered on the way, and what
        is behind them is not known here.
        """
        bases = frontier.base_versions(self.part.tables) if not strangers else None
        return Arrival(result, version=version, bases=bases)

    def _direct(self, key: str) -> list[str]:
        return [each for each in self.part.graph.sources[key] if each in self.part.tables]


def _agreed(vectors: Iterable[Mapping[str, int] | None]) -> dict[str, int] | None:
    """The base table versions that the upstreams show; None if one is not known, or two of them disagree."""
    agreed: dict[str, int] = {}
    for vector in vectors:
        if vector is None:
            return None
        for source, version in vector.items():
            if agreed.setdefault(source, version) != version:
                return None
    return agreed
