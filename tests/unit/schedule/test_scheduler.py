"""The loop around the dispatcher: it goes on after errors, drains, and stops when it is told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.catalog import SCHEDULER, Action, Dependency, SourceType, SqliteCatalog, Status, StreamTableMeta
from penstock.errors import CatalogError, CommitConflict, EngineUnavailable, PenstockError
from penstock.graph.dag import StreamGraph
from penstock.graph.grid import next_stamp
from penstock.graph.lag import resolve_lags
from penstock.graph.order import order_refreshes
from penstock.names import Frontier, TableName
from penstock.refresh.graph_run import Arrival, GraphPart, GraphRun, Skip, StayPut
from penstock.refresh.result import RefreshResult
from penstock.refresh.run_graph import Outcome
from penstock.schedule import scheduler as scheduler_module
from penstock.schedule.clock import SystemClock
from penstock.schedule.due import Picture
from penstock.schedule.leader import Candidate
from penstock.schedule.running import Running
from penstock.schedule.scheduler import Scheduler
from penstock.schedule.steady_clock import SteadyClock
from penstock.settings import Settings
from penstock.testing.clock import FakeClock

READS = {"a": ["t"], "b": ["a"], "c": ["t"]}


class Bench:
    """A executor whose refreshes are functions of the test."""

    def __init__(self) -> None:
        self.tables = {
            key: StreamTableMeta(
                id=number,
                name=TableName("default", key),
                table_id=key,
                path="",
                query="",
                definition_hash="",
                target_lag=timedelta(seconds=1),
                status=Status.ACTIVE,
                is_populated=True,
            )
            for number, key in enumerate(READS, 1)
        }
        self.done: list[str] = []
        self.work: Callable[[str], PenstockError | None] = lambda key: None
        self.before_begin: Callable[[], None] = lambda: None
        self.gone = False
        self.circle: str | None = None
        self.looks = 0

    def picture(self) -> Picture | None:
        graph = self._graph()
        lags = {key: held.lag for key, held in resolve_lags(graph, timedelta(seconds=1)).items()}
        self.looks += 1
        return Picture(dict(self.tables), graph, lags, 1, self.circle)

    def _graph(self) -> StreamGraph:
        dependencies = [
            Dependency(source_id=source, source_name=source, source_type=SourceType.TABLE, stream_table_id=meta.id)
            for key, meta in self.tables.items()
            for source in READS[key]
        ]
        return StreamGraph.build(self.tables.values(), dependencies)

    def hold(self, held: str) -> tuple[threading.Event, threading.Event]:
        """Work on this table does not end until the second event; the first says that it has begun."""
        at_work, go_on = threading.Event(), threading.Event()

        def work(key: str) -> PenstockError | None:
            if key == held:
                at_work.set()
                go_on.wait(120)
            return None

        self.work = work
        return at_work, go_on

    def woken(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset()

    def begin(self, wanted: frozenset[str], stamp: datetime, resting: frozenset[str]) -> GraphRun:
        self.before_begin()
        graph = self._graph()
        part = wanted.union(*(graph.upstream(key) for key in wanted)) & self.tables.keys()
        order = tuple(node.key for node in order_refreshes(graph, part))
        return GraphRun(GraphPart({key: self.tables[key] for key in part}, graph, order, {}), wanted, stamp, resting)

    def carry_out(self, graph_run: GraphRun, key: str) -> Outcome:
        if isinstance(graph_run.next_step(key), Skip | StayPut):
            return Outcome(Arrival(blocked=True))
        error = self.work(key)
        if error is not None:
            return Outcome(Arrival(blocked=True), error)
        self.done.append(key)
        self.tables[key] = replace(self.tables[key], data_timestamp=graph_run.stamp)
        result = RefreshResult(
            name=key,
            action=Action.INCREMENTAL,
            reason_code=None,
            reason=None,
            rows_inserted=0,
            rows_deleted=0,
            frontier=Frontier({}),
            data_timestamp=graph_run.stamp,
            version=1,
            seconds=0.0,
        )
        return Outcome(Arrival(result, version=1, bases={}))

    def skip(self, key: str, skip: Skip, stamp: datetime) -> None:
        pass

    def engine_is_gone(self) -> bool:
        return self.gone


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def start(bench: Bench, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts a scheduler on the bench; whatever still runs is stopped in the end."""
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        begun: list[Scheduler] = []

        def start(**settings: Any) -> Running:
            held = Settings(scheduler_interval_ms=20, **settings)
            scheduler = Scheduler(bench, catalog, lambda: held, SteadyClock(SystemClock()))
            begun.append(scheduler)
            return Running(scheduler)

        yield start
        for scheduler in begun:
            scheduler.stop()


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def test_everything_is_refreshed_again_and_again_upstreams_first(bench: Bench, start: Callable[..., Running]) -> None:
    running = start()
    until(lambda: all(bench.done.count(key) >= 3 for key in READS))
    assert running.leads
    assert running.stop() == []
    assert not running.leads
    assert bench.done.index("a") < bench.done.index("b")
    number = len(bench.done)
    time.sleep(0.2)
    assert len(bench.done) == number


def test_a_table_that_fails_or_crashes_delays_nobody(bench: Bench, start: Callable[..., Running]) -> None:
    def work(key: str) -> PenstockError | None:
        if key == "a":
            raise RuntimeError("a bug around the refresh")
        return None

    bench.work = work
    running = start(backoff_seconds=1, backoff_max_seconds=1)
    until(lambda: bench.done.count("c") >= 3)
    assert "b" not in bench.done
    bench.work = lambda key: None
    until(lambda: "b" in bench.done)
    running.stop()


def test_the_loop_goes_on_after_an_error_of_its_own(
    bench: Bench, start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_module, "CRASH_PAUSE", 0.05)
    failing = [3]

    def before_begin() -> None:
        if failing[0]:
            failing[0] -= 1
            raise CatalogError(why="gone for a moment", fix="wait")

    bench.before_begin = before_begin
    running = start(backoff_seconds=1)
    until(lambda: set(bench.done) == set(READS))
    running.stop()


def test_stopping_waits_for_what_runs_and_begins_nothing_more(bench: Bench, start: Callable[..., Running]) -> None:
    at_work, go_on = set[str](), threading.Event()

    def work(key: str) -> PenstockError | None:
        at_work.add(key)
        go_on.wait(60)
        return None

    bench.work = work
    running = start()
    until(lambda: at_work == {"a", "c"})
    assert _stopped(running, go_on) == []
    assert sorted(bench.done) == ["a", "c"], "b had not begun"


def _stopped(running: Running, go_on: threading.Event) -> list[str]:
    """What `stop` gives if whatever runs goes on only when the scheduler knows that it is to end."""
    left: list[list[str]] = []
    stopping = threading.Thread(target=lambda: left.append(running.stop()))
    stopping.start()
    until(lambda: not running.leads)
    go_on.set()
    stopping.join(60)
    return left[0]


def test_while_it_drains_nobody_else_leads(bench: Bench, start: Callable[..., Running], tmp_path: Path) -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def work(key: str) -> PenstockError | None:
        at_work.set()
        go_on.wait(60)
        return None

    bench.work = work
    running = start()
    assert at_work.wait(60)
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    until(lambda: not running.leads)
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        # Another would set out for the very tables that are at work here.
        for _ in range(20):
            assert Candidate(catalog).stand() is None
            time.sleep(0.01)
        go_on.set()
        stopping.join()
        successor = Candidate(catalog).stand()
        assert successor is not None
        successor.end()


def test_what_does_not_end_in_time_is_named(bench: Bench, start: Callable[..., Running]) -> None:
    at_work, go_on = bench.hold("c")
    running = start(drain_seconds=0)
    assert at_work.wait(60)
    assert "default.c" in running.stop()
    go_on.set()


def test_what_still_runs_of_a_leadership_that_was_lost_is_named_too(
    bench: Bench, start: Callable[..., Running], tmp_path: Path
) -> None:
    at_work, go_on = bench.hold("c")
    running = start(drain_seconds=0)
    assert at_work.wait(60)
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        hour = timedelta(hours=1)
        catalog.acquire_lease(SCHEDULER, "elsewhere:1:x", hour, now=catalog.now() + hour)
    until(lambda: running.rival is not None)
    assert running.stop() == ["default.c"]
    go_on.set()


def test_another_number_of_workers_holds_at_once(bench: Bench, tmp_path: Path) -> None:
    at_work: set[str] = set()
    go_on = threading.Event()

    def work(key: str) -> PenstockError | None:
        at_work.add(key)
        go_on.wait(60)
        return None

    bench.work = work
    held = [Settings(scheduler_interval_ms=20, max_concurrent_refreshes=1)]
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        running = Running(Scheduler(bench, catalog, lambda: held[0], SteadyClock(SystemClock())))
        until(lambda: len(at_work) == 1)
        held[0] = Settings(scheduler_interval_ms=20, max_concurrent_refreshes=3)
        until(lambda: at_work == {"a", "c"})
        go_on.set()
        assert running.stop() == []


def test_whoever_takes_over_from_a_clock_that_was_ahead_goes_on_from_there(
    bench: Bench, start: Callable[..., Running]
) -> None:
    ahead = datetime.now(UTC) + timedelta(hours=1)
    bench.tables = {key: replace(meta, data_timestamp=ahead) for key, meta in bench.tables.items()}
    running = start()
    until(lambda: set(bench.done) == set(READS))
    running.stop()
    assert all(meta.data_timestamp is not None and meta.data_timestamp > ahead for meta in bench.tables.values())


@pytest.mark.parametrize("takes", [0.0, 0.2, 0.3, 5.0])
def test_a_look_that_takes_long_does_not_put_the_next_one_off(bench: Bench, tmp_path: Path, takes: float) -> None:
    wall = FakeClock()
    first = next_stamp(wall.now(), timedelta(seconds=1))
    bench.before_begin = lambda: wall.sleep(takes)
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        held = Settings()
        scheduler = Scheduler(bench, catalog, lambda: held, SteadyClock(wall, lambda: 0.0))
        wait = scheduler._step()
        scheduler._drain()
    begun = wall.now() + timedelta(seconds=wait)
    assert begun <= max(first, wall.now() + timedelta(seconds=0.01))


def test_two_schedulers_one_leads_and_the_other_takes_over(bench: Bench, start: Callable[..., Running]) -> None:
    first = start()
    until(lambda: first.leads)
    second = start()
    until(lambda: second.rival is not None)
    assert not second.leads
    first.stop()
    until(lambda: second.leads)
    second.stop()


def test_a_leader_whose_loop_hangs_gives_way_and_is_a_good_one_again(
    bench: Bench, start: Callable[..., Running], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its lease would be renewed for ever: the thread that does so does not hang."""
    hangs, go_on = threading.Event(), threading.Event()

    def before_begin() -> None:
        hangs.set()
        go_on.wait(120)

    bench.before_begin = before_begin
    with pytest.MonkeyPatch.context() as impatient:
        impatient.setattr(scheduler_module, "STUCK", 0.5)
        first = start()
        assert hangs.wait(60)
        until(lambda: any(getattr(record, "event", None) == "hangs" for record in caplog.records))
    held, other = Settings(scheduler_interval_ms=20), Bench()
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        second = Running(Scheduler(other, catalog, lambda: held, SteadyClock(SystemClock())))
        until(lambda: second.leads)
        until(lambda: set(other.done) == set(READS))
        go_on.set()
        until(lambda: not first.leads and first.rival is not None)
        second.stop()
    until(lambda: first.leads)
    until(lambda: set(bench.done) == set(READS))
    first.stop()


def test_without_an_engine_the_scheduler_ends_and_says_why(bench: Bench, start: Callable[..., Running]) -> None:
    bench.gone = True
    bench.work = lambda key: EngineUnavailable(name=key, why="its process is gone")
    running = start()
    with pytest.raises(EngineUnavailable, match="its process is gone"):
        running.wait()


def test_an_engine_that_only_stumbled_is_tried_again(bench: Bench, start: Callable[..., Running]) -> None:
    left = [2]

    def work(key: str) -> PenstockError | None:
        if left[0]:
            left[0] -= 1
            return EngineUnavailable(name=key, why="lost an executor")
        return None

    bench.work = work
    running = start(backoff_seconds=1)
    until(lambda: set(bench.done) == set(READS))
    running.stop()


def test_conflicts_are_tried_again_after_a_while(bench: Bench, start: Callable[..., Running]) -> None:
    tries: list[float] = []

    def work(key: str) -> PenstockError | None:
        if key == "a":
            tries.append(time.monotonic())
            return CommitConflict(name=key, why="test") if len(tries) < 3 else None
        return None

    bench.work = work
    running = start(backoff_seconds=1)
    until(lambda: "b" in bench.done)
    running.stop()
    assert tries[1] - tries[0] > 0.7
    assert tries[2] - tries[1] > 1.4


def test_a_worker_that_could_not_start_is_hired_again(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_module, "CRASH_PAUSE", 0.05)
    refused = [2]

    def new_thread(worker_loop: Callable[[], None], number: int) -> threading.Thread:
        if refused[0]:
            refused[0] -= 1
            raise RuntimeError("no thread to be had")
        return threading.Thread(target=worker_loop, daemon=True)

    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        held = Settings(scheduler_interval_ms=20)
        scheduler = Scheduler(bench, catalog, lambda: held, SteadyClock(SystemClock()), new_thread)
        running = Running(scheduler)
        until(lambda: set(bench.done) == set(READS))
        running.stop()


def test_a_panic_costs_neither_the_worker_nor_the_table(bench: Bench, start: Callable[..., Running]) -> None:
    class Panic(BaseException):
        pass

    left = [1]

    def work(key: str) -> PenstockError | None:
        if key == "a" and left[0]:
            left[0] -= 1
            raise Panic("in another language")
        return None

    bench.work = work
    running = start(backoff_seconds=1, max_concurrent_refreshes=1)
    until(lambda: set(bench.done) == set(READS))
    assert running.stop() == []


def test_an_engine_that_cannot_even_be_asked_costs_neither_the_worker_nor_the_table(
    bench: Bench, start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [1]

    def work(key: str) -> PenstockError | None:
        if key == "a" and left[0]:
            left[0] -= 1
            return EngineUnavailable(name=key, why="lost an executor")
        return None

    bench.work = work
    monkeypatch.setattr(bench, "engine_is_gone", lambda: 1 / 0)
    running = start(backoff_seconds=1, max_concurrent_refreshes=1)
    until(lambda: set(bench.done) == set(READS))
    assert running.stop() == []


def test_whoever_stops_spark_too_means_it(bench: Bench, start: Callable[..., Running]) -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def work(key: str) -> PenstockError | None:
        at_work.set()
        go_on.wait(60)
        return EngineUnavailable(name=key, why="its process is gone")

    bench.work, bench.gone = work, True
    running = start()
    assert at_work.wait(60)
    assert _stopped(running, go_on) == [], "it does not ask to be started anew"


def test_a_circle_is_told_of_once(
    bench: Bench, start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    bench.circle = "a → b → a"
    with start():
        until(lambda: bench.looks > 3)
        bench.circle = "b → c → b"
        seen = bench.looks
        until(lambda: bench.looks > seen + 3)
    told = [record.getMessage() for record in caplog.records if getattr(record, "event", None) == "circle"]
    assert [text.rpartition(": ")[2] for text in told] == ["a → b → a", "b → c → b"]
