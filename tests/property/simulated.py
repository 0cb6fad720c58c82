"""A world without Spark and without waiting: base tables that are written to, refreshes that take time, fail, and land.

The scheduler's own code decides; only what it asks for is made up here. Every version of every stream table remembers
what it was really computed from, down to the base tables, so a mixed state shows whatever the frontiers claim.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from penstock.catalog.model import Action, Dependency, SourceType, Status, StreamTableMeta
from penstock.errors import CommitConflict, PenstockError, QueryFailed
from penstock.graph.dag import StreamGraph
from penstock.graph.lag import resolve_lags
from penstock.graph.order import order_refreshes
from penstock.names import Frontier, SourceVersion, TableName
from penstock.refresh.graph_run import Arrival, GraphPart, GraphRun, RefreshTo, Skip, StayPut
from penstock.refresh.result import RefreshResult
from penstock.schedule.backoff import Backoff
from penstock.schedule.begin_due import begin_due
from penstock.schedule.dispatcher import Dispatcher, Task
from penstock.schedule.due import Picture
from penstock.schedule.steady_clock import SteadyClock

START = datetime(2026, 1, 1, tzinfo=UTC)
LAGS = [2, 5, 10, 30, 60, 300]


@dataclass
class Traits:
    """What kind of world it is."""

    tables: int = 10
    bases: int = 3
    workers: int = 4
    commits_per_second: float = 0.3
    longest: float = 1.0
    """Seconds that the slowest refresh takes."""
    failing: float = 0.0
    """Share of refreshes that fail and may pass."""
    breaking: float = 0.0
    """Share of refreshes that fail for no reason that can be seen."""
    poison: float = 0.0
    """Share of commits whose rows some of the tables that read them cannot take, until the next commit mends them."""
    meddling: float = 0.0
    """Chance per second that somebody suspends a table, or resumes it."""
    clock_jumps: float = 0.0
    """Chance per second that the clock on the wall is set to another time."""
    shortest_lag: float = 2


class Wall:
    """The clock on the wall, which somebody may set."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.off = timedelta(0)

    def now(self) -> datetime:
        return START + timedelta(seconds=self._world.seconds) + self.off

    def sleep(self, seconds: float) -> None:
        raise AssertionError("a simulated world does not sleep")


@dataclass(order=True)
class _Event:
    at: float
    number: int
    do: object = field(compare=False)


class World:
    """Base tables, stream tables, time; implements the scheduler's `RefreshExecutor`."""

    def __init__(self, seed: int, traits: Traits) -> None:
        self.seconds = 0.0
        self.chance = random.Random(seed)
        self.traits = traits
        self.wall = Wall(self)
        self.clock = SteadyClock(self.wall, stopwatch=lambda: self.seconds)
        self.dispatcher = Dispatcher(
            traits.workers, Backoff(timedelta(seconds=2), timedelta(seconds=60), random.Random(seed + 1))
        )
        self.versions = {f"base{number}": 0 for number in range(traits.bases)}
        self.poisoned: set[tuple[str, str, int]] = set()
        """Stream table, base table, and the version that it cannot take."""
        self.in_vain = 0
        """Refreshes that failed on the very versions that they had failed on before."""
        self.tables: dict[str, StreamTableMeta] = {}
        self.reads: dict[str, list[str]] = {}
        self.contents: dict[str, list[dict[str, int]]] = {}
        """Stream table → for each version of its storage, the base versions it was really computed from."""
        self.usual: dict[str, float] = {}
        self.dag_version = 1
        self.worst: dict[str, timedelta] = {}
        """Stream table → the most that anybody saw it behind, after its first fill."""
        self.refreshes = self.skips = self.failures = self.ticks = self.wakes = 0
        self._seen: dict[str, dict[str, int]] = {}
        self._grounds: dict[str, tuple[int | None, ...]] = {}
        self._failed_on: dict[str, tuple[int | None, ...]] = {}
        self._graph: tuple[StreamGraph, dict[str, timedelta]] | None = None
        self._at_work: set[str] = set()
        self._events: list[_Event] = []
        self._number = 0
        self._build()

    def _build(self) -> None:
        names = list(self.versions)
        for number in range(self.traits.tables):
            key = f"st{number:02}"
            reads = self.chance.sample(names, k=min(len(names), self.chance.choice([1, 1, 2, 3])))
            lag: int | None = self.chance.choice([each for each in LAGS if each >= self.traits.shortest_lag])
            # The last tables are nobody's source, so DOWNSTREAM would mean the smallest lag there is.
            if number < self.traits.tables // 2 and self.chance.random() < 0.3:
                lag = None
            self.reads[key] = reads
            self.contents[key] = []
            self.usual[key] = self.chance.uniform(0.05, 1.0) * self.traits.longest
            self.tables[key] = StreamTableMeta(
                id=number + 1,
                name=TableName("default", key),
                table_id=key,
                path=f"/{key}",
                query="",
                definition_hash="",
                target_lag=None if lag is None else timedelta(seconds=lag),
                status=Status.INITIALIZING,
            )
            names.append(key)

    # -- time

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        end = self.seconds + seconds
        self._after(0.0, self._tick)
        self._after(self._pause(self.traits.commits_per_second), self._commit)
        while self._events and self._events[0].at <= end:
            event = heapq.heappop(self._events)
            self.seconds = event.at
            event.do()  # type: ignore[operator]
        self.seconds = end
        # Whoever was not refreshed at all is late too.
        for key in self.tables:
            self._note_behind(key)
        self._events = [event for event in self._events if isinstance(event.do, _Landing)]
        heapq.heapify(self._events)

    def _after(self, seconds: float, do: object) -> None:
        self._number += 1
        heapq.heappush(self._events, _Event(self.seconds + seconds, self._number, do))

    def _pause(self, per_second: float) -> float:
        return self.chance.expovariate(per_second) if per_second else 1e9

    def _tick(self) -> None:
        self.ticks += 1
        self._meddle()
        begin_due(self.dispatcher, self, self.picture(), self.clock, nullcontext())  # type: ignore[arg-type]
        self._start_what_can()
        self._after(0.5, self._tick)

    def _commit(self) -> None:
        base = self.chance.choice(sorted(self.versions))
        self.versions[base] += 1
        if self.traits.poison and self.chance.random() < self.traits.poison:
            readers = [key for key in sorted(self.tables) if base in self.reads[key]]
            self.poisoned |= {(key, base, self.versions[base]) for key in readers if self.chance.random() < 0.5}
        self._after(self._pause(self.traits.commits_per_second), self._commit)

    def _meddle(self) -> None:
        if self.chance.random() < self.traits.clock_jumps:
            self.wall.off = timedelta(seconds=self.chance.uniform(-3600, 600))
        if self.chance.random() < self.traits.meddling:
            waiting = [key for key in sorted(self.tables) if self.tables[key].status is Status.SUSPENDED]
            if waiting and self.chance.random() < 0.7:
                key = self.chance.choice(waiting)
                populated = self.tables[key].is_populated
                self._set(key, status=Status.ACTIVE if populated else Status.INITIALIZING)
            else:
                self._set(self.chance.choice(sorted(self.tables)), status=Status.SUSPENDED)
            self.dag_version += 1

    def heal(self) -> None:
        """The rows are mended, and who was suspended is resumed; nobody touches what is in error."""
        self.traits = replace(
            self.traits, failing=0, breaking=0, poison=0, meddling=0, clock_jumps=0, commits_per_second=0
        )
        for base in self.versions:
            self.versions[base] += 1
        for key, meta in self.tables.items():
            if meta.status is Status.SUSPENDED:
                self._set(key, status=Status.ACTIVE if meta.is_populated else Status.INITIALIZING)
        self.dag_version += 1

    def _set(self, key: str, **changes: object) -> None:
        self.tables[key] = replace(self.tables[key], **changes)  # type: ignore[arg-type]

    # -- what the scheduler asks for

    def picture(self) -> Picture:
        if self._graph is None:
            graph = StreamGraph.build(self.tables.values(), self._dependencies(self.tables))
            lags = resolve_lags(graph, timedelta(seconds=self.traits.shortest_lag))
            self._graph = graph, {key: held.lag for key, held in lags.items()}
        return Picture(dict(self.tables), *self._graph, self.dag_version)

    def _dependencies(self, keys: Collection[str]) -> list[Dependency]:
        return [
            Dependency(
                source_id=source,
                source_name=source,
                source_type=SourceType.STREAM_TABLE if source in self.tables else SourceType.TABLE,
                stream_table_id=self.tables[key].id,
            )
            for key in keys
            for source in self.reads[key]
        ]

    def woken(self, keys: Collection[str]) -> frozenset[str]:
        found = frozenset(
            key
            for key in keys
            if (
                self._failed_on.get(key) != self._stands_on(key)
                if self.tables[key].status is Status.ERROR
                else key in self._seen and any(self.versions[base] != at for base, at in self._seen[key].items())
            )
        )
        self.wakes += len(found)
        return found

    def begin(self, wanted: frozenset[str], stamp: datetime, resting: frozenset[str]) -> GraphRun:
        for key in wanted:
            if self.tables[key].status is Status.ERROR:
                self._grounds[key] = self._stands_on(key)
        whole = self.picture().graph
        part = wanted.union(*(whole.upstream(key) for key in wanted)) & self.tables.keys()
        tables = {key: meta for key, meta in self.tables.items() if key in part}
        graph = StreamGraph.build(tables.values(), self._dependencies(tables))
        order = tuple(node.key for node in order_refreshes(graph, tables))
        graph_run = GraphRun(GraphPart(tables, graph, order, dict(self.versions)), wanted, stamp, resting)
        there: dict[str, Arrival] = {}
        for key in order:
            pins = graph_run.pins(key, there) if graph_run.may_run(key) else None
            frontier = self.tables[key].frontier
            if (
                pins is None
                or frontier is None
                or any(pins.versions[source] != frontier.version(source) for source in self.reads[key])
            ):
                continue
            assert key not in self._at_work, f"{key} was settled while somebody worked on it"
            after = Frontier(frontier.sources, stamp, pins.bases if pins.bases is not None else None)
            self._land(key, after, self.tables[key].frontier_version or 0, self.contents[key][-1])
            there[key] = graph_run.arrival(after, self.tables[key].frontier_version, self._result(key, Action.NO_DATA))
            self._note_quiet(graph_run, key)
        graph_run.arrived.update(there)
        return graph_run

    def skip(self, key: str, skip: Skip, stamp: datetime) -> None:
        self.skips += 1

    def carry_out(self, graph_run: GraphRun, key: str) -> object:
        raise AssertionError("work takes time here: it is started and lands later")

    def engine_is_gone(self) -> bool:
        return False

    def _stands_on(self, key: str) -> tuple[int | None, ...]:
        """The newest versions of all that it reads."""
        return tuple(
            self.tables[source].frontier_version if source in self.tables else self.versions[source]
            for source in self.reads[key]
        )

    def _note_quiet(self, graph_run: GraphRun, key: str) -> None:
        behind = graph_run.part.graph.upstream(key)
        self._seen[key] = {base: version for base, version in graph_run.part.versions.items() if base in behind}

    # -- work

    def _start_what_can(self) -> None:
        while (task := self.dispatcher.next()) is not None:
            assert len(self.dispatcher.running) <= self.traits.workers
            step = task.graph_run.next_step(task.key)
            if isinstance(step, RefreshTo):
                assert task.key not in self._at_work, f"{task.key} is worked on twice at once"
                for source in self.reads[task.key]:
                    assert source not in self.tables or source in task.graph_run.arrived, "an upstream had not arrived"
                self._at_work.add(task.key)
                self._after(self._takes(task.key), _Landing(self, task, step))
            else:
                assert isinstance(step, Skip | StayPut)
                self.skips += isinstance(step, Skip)
                self._end(task, Arrival(blocked=True), None)

    def _takes(self, key: str) -> float:
        return self.usual[key] * self.chance.uniform(0.7, 1.0)

    def land(self, task: Task, step: RefreshTo) -> None:
        """A refresh ends, well or badly."""
        key, lot = task.key, self.chance.random()
        self._at_work.discard(key)
        self.refreshes += 1
        if lot < self.traits.failing:
            self.failures += 1
            self._end(task, Arrival(blocked=True), CommitConflict(name=key, why="simulated"))
        elif lot < self.traits.failing + self.traits.breaking or self._is_poison(key, step):
            self.failures += 1
            if self.tables[key].status is not Status.SUSPENDED:
                self.dag_version += self.tables[key].status is not Status.ERROR
                self._set(key, status=Status.ERROR)
            if (grounds := self._grounds.pop(key, None)) is not None:
                self.in_vain += self._failed_on.get(key) == grounds
                self._failed_on[key] = grounds
            self._end(task, Arrival(blocked=True), QueryFailed(name=key, why="simulated"))
        else:
            content = self._computed(key, step.pins.versions)
            after = Frontier(
                {source: SourceVersion(step.pins.versions[source]) for source in self.reads[key]},
                task.graph_run.stamp,
                step.pins.bases,
            )
            self.contents[key].append(content)
            version = len(self.contents[key]) - 1
            self._land(key, after, version, content)
            self._end(task, task.graph_run.arrival(after, version, self._result(key, Action.INCREMENTAL)), None)

    def _is_poison(self, key: str, step: RefreshTo) -> bool:
        return any((key, source, version) in self.poisoned for source, version in step.pins.versions.items())

    def _end(self, task: Task, arrival: Arrival, error: PenstockError | None) -> None:
        task.graph_run.arrived[task.key] = arrival
        self.dispatcher.ended(task, error, timedelta(seconds=self.usual[task.key]), self.clock.now())
        self._start_what_can()

    def _computed(self, key: str, versions: object) -> dict[str, int]:
        """The base versions that a computation over these source versions really shows; they must agree."""
        content: dict[str, int] = {}
        for source in self.reads[key]:
            at = versions[source]  # type: ignore[index]
            shown = self.contents[source][at] if source in self.tables else {source: at}
            for base, version in shown.items():
                assert content.setdefault(base, version) == version, (
                    f"{key} mixes {base} at {content[base]} and at {version}"
                )
        return content

    def _land(self, key: str, after: Frontier, version: int, content: dict[str, int]) -> None:
        held = self.tables[key]
        assert after.base_versions(self.tables) == content, f"the frontier of {key} does not say what it shows"
        if held.frontier is not None:
            assert held.frontier <= after, f"the frontier of {key} moved back"
            assert held.data_timestamp is not None
            assert after.data_timestamp is not None
            assert held.data_timestamp <= after.data_timestamp, f"the data timestamp of {key} moved back"
            self._note_behind(key)
        suspended = held.status is Status.SUSPENDED
        self._set(
            key,
            frontier=after,
            frontier_version=version,
            data_timestamp=after.data_timestamp,
            is_populated=True,
            status=Status.SUSPENDED if suspended else Status.ACTIVE,
        )

    def _note_behind(self, key: str) -> None:
        shown = self.tables[key].data_timestamp
        if shown is not None:
            self.worst[key] = max(self.worst.get(key, timedelta(0)), self.clock.now() - shown)

    def _result(self, key: str, action: Action) -> RefreshResult:
        meta = self.tables[key]
        return RefreshResult(
            name=key,
            action=action,
            reason_code=None,
            reason=None,
            rows_inserted=0,
            rows_deleted=0,
            frontier=meta.frontier,
            data_timestamp=meta.data_timestamp,
            version=meta.frontier_version,
            seconds=0.0,
        )


@dataclass
class _Landing:
    """A refresh at work, and how it ends."""

    world: World
    task: Task
    step: RefreshTo

    def __call__(self) -> None:
        self.world.land(self.task, self.step)
