"""What to start next. Pure: the caller passes the time and the outcomes; it waits for nothing.

    asleep  the tables to ask about: whether a quiet one, or one in error, has been woken by a change
    plan    the stream tables to begin a graph run with: due or woken, with no work on them or upstream of them
    next    of everything whose upstreams are done, what must be done soonest (data timestamp + lag), within the limits
    ended   a table has arrived, or has failed and rests a while

Several graph runs can be under way at once, each with a version vector of its own, and never with a table in common: a
table that takes long holds up its own consumers and no other table. Tables that usually take long, measured by the
tightest lag there is, never have all workers at once, so quick tables need not queue behind slow ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

from penstock.catalog.model import Action, Status, StreamTableMeta
from penstock.errors import PenstockError, TableBusy
from penstock.refresh.graph_run import GraphRun, Skip
from penstock.schedule.backoff import Backoff
from penstock.schedule.due import SCHEDULED, Picture

HEAVY: Final = 4
"""A table that takes more than the tightest lag divided by this is a slow one; one that takes less than another's time
divided by this is quick beside it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Task:
    """One table of a graph run that can be worked on now."""

    graph_run: GraphRun
    key: str


@dataclass(frozen=True)
class Plan:
    """What the dispatcher wants to begin."""

    wanted: frozenset[str] = frozenset()
    resting: frozenset[str] = frozenset()
    skips: Mapping[str, Skip] = field(default_factory=dict)


@dataclass
class _Rest:
    failures: int
    until: datetime
    stamp: datetime | None
    """Its data timestamp when it failed."""
    consumers_freed: bool = False
    """The tables that it blocked are free to go on."""


class Dispatcher:
    """Graph runs under way, tables at rest, and what is at work."""

    def __init__(self, workers: int, backoff: Backoff) -> None:
        self.workers = workers
        self.backoff = backoff
        self._paused = self._was_paused = False
        self.quiet: set[str] = set()
        """Tables to which nothing had happened when they were last looked at."""
        self._graph_runs: list[GraphRun] = []
        self._running: list[Task] = []
        self._rests: dict[str, _Rest] = {}
        self._tried: dict[str, datetime] = {}
        """Table → the newest stamp that was tried for it: a table that is blocked is not tried again for the same."""
        self._blocked: set[str] = set()
        """Tables that were found to be blocked: said once, not at every stamp."""
        self._skipped: dict[str, datetime] = {}
        self._took: dict[str, timedelta] = {}
        self._picture: Picture | None = None

    # -- planning

    def asleep(self, picture: Picture, now: datetime) -> set[str]:
        """Quiet tables, and those in error that have rested."""
        in_error = {meta.table_id for meta in picture.in_error() if not self._is_resting(meta.table_id, now)}
        return (self.quiet | in_error) - self.claimed()

    def plan(self, picture: Picture, now: datetime, woken: Iterable[str] = ()) -> Plan:
        """What to begin now. The caller begins it with `begun`."""
        self._look_at(picture)
        if self._was_paused:
            self._was_paused = False
            self._forget_overtaken(picture, now)
        woken, claimed = frozenset(woken), self.claimed()
        self._end_rests_of_the_mended(picture)
        self._free_consumers_of_the_rested(picture, now)
        back = self._held_back(picture, claimed, now)
        wanted: set[str] = set()
        skips: dict[str, Skip] = {}
        for meta in chain(picture.scheduled(), picture.in_error()):
            key, stamp = meta.table_id, picture.due(meta, now)
            if key not in woken and (stamp is None or meta.status is Status.ERROR):
                continue
            if key in claimed:
                if stamp is not None and self._is_late(key, stamp):
                    self._skipped[key] = stamp
                    skips[key] = Skip("STILL_RUNNING", "the refresh before it has not ended")
            elif not (
                self._is_resting(key, now)
                or (stamp is not None and key not in woken and self._tried.get(key) == stamp and key not in self._rests)
                or (key in self._blocked and self._is_held_up(picture, key, now))
                or picture.graph.upstream(key) & claimed
                or key in back
                or picture.graph.upstream(key) & back
            ):
                wanted.add(key)
                if stamp is not None:
                    self._tried[key] = stamp
        resting = frozenset(key for key in self._rests if key not in wanted and self._is_resting(key, now))
        return Plan(frozenset(wanted), resting, skips)

    def begun(self, graph_run: GraphRun) -> None:
        """A planned graph run is under way; some of its tables may have arrived already."""
        for key in list(graph_run.arrived):
            self._arrived(key, quiet=True)
        if graph_run.left():
            self._graph_runs.append(graph_run)

    def not_begun(self, wanted: Iterable[str], now: datetime) -> None:
        """A planned graph run could not be begun."""
        for key in wanted:
            self._failed(key, now)

    def claimed(self) -> set[str]:
        """Every table that a graph run under way has not brought to its vector yet."""
        return {key for graph_run in self._graph_runs for key in graph_run.left()}

    # -- working

    def next(self) -> Task | None:
        """The task to start now, if there is one and a worker may take it."""
        free = self.workers - len(self._running)
        if free < 1 or self.paused:
            return None
        at_work = {(id(task.graph_run), task.key) for task in self._running}
        ready = [
            Task(graph_run, key)
            for graph_run in self._graph_runs
            for key in graph_run.ready()
            if (id(graph_run), key) not in at_work
        ]
        # Counted, not left to whether a worker happens to be idle: under quick tables enough for all, none ever is.
        if self.workers > 1 and sum(self.is_heavy(task.key) for task in self._running) >= self.workers - 1:
            ready = [task for task in ready if not self.is_heavy(task.key)]
        if not ready:
            return None
        left = {id(graph_run): frozenset(graph_run.left()) for graph_run in self._graph_runs}
        chosen = min(
            ready,
            key=lambda task: (
                self._deadline(task, left[id(task.graph_run)]),
                task.graph_run.part.tables[task.key].name,
            ),
        )
        self._running.append(chosen)
        return chosen

    def ended(self, task: Task, error: PenstockError | None, took: timedelta, now: datetime) -> None:
        """A task is done; its graph run knows how far it came."""
        self._running.remove(task)
        if not task.graph_run.left():
            self._graph_runs.remove(task.graph_run)
        arrival = task.graph_run.arrived[task.key]
        if error is not None:
            self._failed(task.key, now, counts=not isinstance(error, TableBusy))
        elif not arrival.blocked:
            result = arrival.result
            self._arrived(task.key, quiet=result is not None and result.action is Action.NO_DATA)
            self._took[task.key] = took
        elif arrival.result is not None and arrival.result.reason_code == "INCONSISTENT_PINS":
            # With those that wait for it: it may take part only because one of them is due.
            for key in (task.key, *task.graph_run.part.graph.downstream(task.key)):
                self._tried.pop(key, None)
        else:
            self._blocked.add(task.key)

    @property
    def paused(self) -> bool:
        """True while nothing may be started, not even what is left of a graph run."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._paused = paused
        self._was_paused |= paused

    @property
    def running(self) -> list[Task]:
        """What is at work now."""
        return list(self._running)

    @property
    def is_idle(self) -> bool:
        """True if no graph run is under way."""
        return not self._graph_runs

    def stop(self) -> None:
        """Start nothing more: only what is at work now is still waited for."""
        self._graph_runs = [
            graph_run for graph_run in self._graph_runs if any(task.graph_run is graph_run for task in self._running)
        ]
        self.workers = 0

    def is_heavy(self, key: str) -> bool:
        """True if a table usually takes long, or if it is not known yet how long."""
        tightest = min(self._picture.lags.values(), default=None) if self._picture is not None else None
        took = self._took.get(key)
        return tightest is None or took is None or took > tightest / HEAVY

    # -- inside

    def _look_at(self, picture: Picture) -> None:
        if self._picture is None or picture.dag_version != self._picture.dag_version:
            # Something was created, altered, resumed: the tables that it blocked may go on.
            self._tried.clear()
            self._blocked.clear()
            known = picture.tables.keys()
            held = self._picture.tables if self._picture is not None else {}
            self._rests = {
                key: rest
                for key, rest in self._rests.items()
                if key in known and not (key in held and _is_given_another_try(held[key], picture.tables[key]))
            }
            self._took = {key: took for key, took in self._took.items() if key in known}
            self.quiet &= known
        self._picture = picture

    def _forget_overtaken(self, picture: Picture, now: datetime) -> None:
        """Plan anew what is left of a graph run that stood still, if a newer stamp is on offer by now.

        Its versions are as old as the pause was long, and may not even be there any more.
        """
        for graph_run in list(self._graph_runs):
            if any(task.graph_run is graph_run for task in self._running):
                continue
            left = [picture.tables[key] for key in graph_run.left() if key in picture.tables]
            if any((stamp := picture.due(meta, now)) is not None and stamp > graph_run.stamp for meta in left):
                self._graph_runs = [each for each in self._graph_runs if each is not graph_run]
                for meta in left:
                    self._tried.pop(meta.table_id, None)

    def _is_late(self, key: str, stamp: datetime) -> bool:
        graph_run = next(each for each in self._graph_runs if key in each.part.tables and key not in each.arrived)
        return graph_run.stamp < stamp and self._skipped.get(key) != stamp

    def _is_resting(self, key: str, now: datetime) -> bool:
        rest = self._rests.get(key)
        return rest is not None and now < rest.until

    def _is_held_up(self, picture: Picture, key: str, now: datetime) -> bool:
        """True if something upstream waits for a person, or for its time to try again."""
        upstream = [each for each in picture.graph.upstream(key) if each in picture.tables]
        return any(picture.tables[each].status not in SCHEDULED or self._is_resting(each, now) for each in upstream)

    def _held_back(self, picture: Picture, claimed: set[str], now: datetime) -> set[str]:
        """The upstreams not to start now: those of tables that are late and only wait for upstreams under way.

        Otherwise upstreams that are busy in turns would never leave such a table a moment to start. A quick upstream is
        not held back for a slow one: if it is still under way when the slow one ends, the wait for it is short.
        """
        back: set[str] = set()
        for meta in picture.scheduled():
            key, stamp = meta.table_id, meta.data_timestamp
            if key in claimed or (stamp is not None and now - stamp <= picture.lags[key]):
                continue
            upstream = picture.graph.upstream(key) & picture.tables.keys()
            busy = upstream & claimed
            if not busy or self._is_resting(key, now) or self._is_held_up(picture, key, now):
                continue
            usual = {each: self._took.get(each, timedelta.max) for each in upstream}
            longest = max(usual[each] for each in busy)
            back |= {each for each in upstream if usual[each] >= longest / HEAVY}
        return back

    def _end_rests_of_the_mended(self, picture: Picture) -> None:
        """End the rest of a table that was refreshed by hand since: the trouble has passed."""
        for key, rest in list(self._rests.items()):
            if key in picture.tables and picture.tables[key].data_timestamp != rest.stamp:
                self._arrived(key, quiet=False)

    def _free_consumers_of_the_rested(self, picture: Picture, now: datetime) -> None:
        """A rest that is over frees the tables that it blocked, once."""
        for key, rest in self._rests.items():
            if not rest.consumers_freed and now >= rest.until and key in picture.graph.nodes:
                rest.consumers_freed = True
                for consumer in picture.graph.downstream(key):
                    self._tried.pop(consumer, None)

    def _arrived(self, key: str, quiet: bool) -> None:
        self._rests.pop(key, None)
        self._blocked.discard(key)
        if quiet:
            self.quiet.add(key)
        else:
            self.quiet.discard(key)
        if self._picture is not None and key in self._picture.graph.nodes:
            for consumer in self._picture.graph.downstream(key):
                self._tried.pop(consumer, None)

    def _failed(self, key: str, now: datetime, counts: bool = True) -> None:
        """The table rests a while: longer each time, unless another worker was only busy with it."""
        before = self._rests[key].failures if key in self._rests else 0
        failures = before + 1
        meta = self._picture.tables.get(key) if self._picture is not None else None
        self._rests[key] = _Rest(
            failures if counts else before,
            now + self.backoff.wait(failures if counts else 1),
            meta.data_timestamp if meta is not None else None,
        )
        self.quiet.discard(key)

    def _deadline(self, task: Task, left: frozenset[str]) -> datetime:
        """The first moment at which the table, or a table that waits for it, breaks its promise."""
        graph_run = task.graph_run
        waiting = graph_run.part.graph.downstream(task.key) & left
        return min(self._promised(graph_run, key) for key in {task.key, *waiting})

    def _promised(self, graph_run: GraphRun, key: str) -> datetime:
        stamp = graph_run.part.tables[key].data_timestamp
        lag = self._picture.lags.get(key) if self._picture is not None else None
        return _EPOCH if stamp is None or lag is None else stamp + lag


def _is_given_another_try(before: StreamTableMeta, after: StreamTableMeta) -> bool:
    """True if a person resumed it, or gave it another definition."""
    resumed = before.status not in SCHEDULED and after.status in SCHEDULED
    defined = (before.definition_hash, before.refresh_mode) != (after.definition_hash, after.refresh_mode)
    return resumed or defined
