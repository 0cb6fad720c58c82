"""What is started next, and what is left alone."""

from __future__ import annotations

import builtins
import random
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.catalog.model import Action, Dependency, SourceType, Status, StreamTableMeta
from penstock.errors import CatalogError, CommitConflict, TableBusy
from penstock.graph.dag import StreamGraph
from penstock.graph.lag import resolve_lags
from penstock.graph.order import order_refreshes
from penstock.names import TableName
from penstock.refresh.graph_run import Arrival, GraphPart, GraphRun
from penstock.refresh.result import RefreshResult
from penstock.schedule.backoff import Backoff
from penstock.schedule.begin_due import begin_due
from penstock.schedule.dispatcher import Dispatcher, Task
from penstock.schedule.due import Picture
from penstock.testing.clock import FakeClock

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUICK, SLOW = SECOND / 10, SECOND * 30
ERROR = CommitConflict(name="x", why="test")


class Stage:
    """A few stream tables, by name → what each reads, and a dispatcher."""

    def __init__(self, reads: Mapping[str, str], workers: int = 4, lag: int = 60) -> None:
        self.reads = {key: sources.split() for key, sources in reads.items()}
        self.tables = {
            key: StreamTableMeta(
                id=number,
                name=TableName("default", key),
                table_id=key,
                path="",
                query="",
                definition_hash="",
                target_lag=timedelta(seconds=lag),
                status=Status.ACTIVE,
                is_populated=True,
                data_timestamp=NOW - timedelta(hours=1),
            )
            for number, key in enumerate(self.reads, 1)
        }
        self.dag_version = 1
        backoff = Backoff(2 * SECOND, 60 * SECOND, random.Random(1))
        self.dispatcher = Dispatcher(workers, backoff)

    def set(self, key: str, **changes: object) -> None:
        self.tables[key] = replace(self.tables[key], **changes)  # type: ignore[arg-type]

    def graph(self, keys: object = None) -> StreamGraph:
        tables = [meta for key, meta in self.tables.items() if keys is None or key in keys]  # type: ignore[operator]
        return StreamGraph.build(
            tables,
            [
                Dependency(
                    source_id=source,
                    source_name=source,
                    source_type=SourceType.STREAM_TABLE if source in self.reads else SourceType.TABLE,
                    stream_table_id=meta.id,
                )
                for meta in tables
                for source in self.reads[meta.table_id]
            ],
        )

    def picture(self) -> Picture:
        graph = self.graph()
        lags = {key: held.lag for key, held in resolve_lags(graph, SECOND).items()}
        return Picture(dict(self.tables), graph, lags, self.dag_version)

    def plan(self, now: datetime = NOW, woken: tuple[str, ...] = ()) -> builtins.set[str]:
        return set(self.dispatcher.plan(self.picture(), now, woken).wanted)

    def begin(self, now: datetime = NOW, woken: tuple[str, ...] = ()) -> GraphRun:
        plan = self.dispatcher.plan(self.picture(), now, woken)
        whole = self.graph()
        part = plan.wanted.union(*(whole.upstream(key) for key in plan.wanted)) & self.tables.keys()
        graph = self.graph(part)
        order = tuple(node.key for node in order_refreshes(graph, part))
        graph_run = GraphRun(
            GraphPart({key: self.tables[key] for key in part}, graph, order, {}), plan.wanted, now, plan.resting
        )
        self.dispatcher.begun(graph_run)
        return graph_run

    def start_all(self) -> list[Task]:
        return list(iter(self.dispatcher.next, None))

    def end_blocked(self, key: str, now: datetime = NOW) -> None:
        (task,) = [each for each in self.dispatcher.running if each.key == key]
        task.graph_run.arrived[key] = Arrival(blocked=True)
        self.dispatcher.ended(task, None, QUICK, now)

    def end(
        self, task: Task, now: datetime = NOW, error: CommitConflict | None = None, took: timedelta = QUICK
    ) -> None:
        if error is None:
            self.set(task.key, data_timestamp=task.graph_run.stamp)
            task.graph_run.arrived[task.key] = Arrival(_result(Action.INCREMENTAL), version=1, bases={})
        else:
            task.graph_run.arrived[task.key] = Arrival(blocked=True)
        self.dispatcher.ended(task, error, took, now)


def _result(action: Action) -> RefreshResult:
    return RefreshResult(
        name="x",
        action=action,
        reason_code=None,
        reason=None,
        rows_inserted=0,
        rows_deleted=0,
        frontier=None,
        data_timestamp=None,
        version=1,
        seconds=0.0,
    )


def keys(tasks: list[Task]) -> list[str]:
    return [task.key for task in tasks]


def test_what_is_due_is_wanted_and_nothing_else() -> None:
    stage = Stage({"a": "t", "b": "t", "c": "t"})
    stage.set("b", data_timestamp=NOW)
    stage.set("c", status=Status.SUSPENDED)
    assert stage.plan() == {"a"}


def test_a_table_never_filled_is_due_at_once() -> None:
    stage = Stage({"a": "t"})
    stage.set("a", status=Status.INITIALIZING, data_timestamp=None, is_populated=False)
    assert stage.plan() == {"a"}


def test_upstreams_come_first_and_independent_tables_side_by_side() -> None:
    stage = Stage({"a": "t", "b": "a", "c": "t"})
    stage.begin()
    first = stage.start_all()
    assert keys(first) == ["a", "c"]
    stage.end(first[0])
    assert keys(stage.start_all()) == ["b"]


def test_a_table_under_way_and_its_consumers_are_not_wanted_again() -> None:
    stage = Stage({"a": "t", "b": "a", "c": "t"})
    stage.begin()
    later = NOW + timedelta(minutes=1)
    plan = stage.dispatcher.plan(stage.picture(), later)
    assert not plan.wanted
    assert {key: skip.code for key, skip in plan.skips.items()} == dict.fromkeys("abc", "STILL_RUNNING")
    assert not stage.dispatcher.plan(stage.picture(), later).skips, "said once for each stamp"


def test_a_finished_upstream_may_set_out_again_while_a_slow_consumer_is_at_work() -> None:
    stage = Stage({"a": "t", "b": "a"})
    stage.begin()
    stage.end(stage.start_all()[0])
    assert keys(stage.start_all()) == ["b"]
    assert stage.plan(NOW + timedelta(minutes=1)) == {"a"}


def test_the_most_urgent_first_counting_those_that_wait_for_it() -> None:
    stage = Stage({"a": "t", "b": "t", "last": "b"}, workers=1)
    stage.set("a", data_timestamp=NOW - timedelta(minutes=5))
    stage.set("b", data_timestamp=NOW - timedelta(minutes=4))
    stage.set("last", data_timestamp=NOW - timedelta(minutes=9))
    stage.begin()
    assert keys(stage.start_all()) == ["b"]


def test_slow_tables_leave_the_last_worker_to_quick_ones() -> None:
    stage = Stage({"a": "t", "b": "t", "quick": "t"}, workers=2)
    stage.begin()
    while tasks := stage.start_all():
        for task in tasks:
            stage.end(task, took=QUICK if task.key == "quick" else SLOW)
    later = NOW + timedelta(minutes=1)
    stage.begin(later)
    assert sorted(keys(stage.start_all())) == ["a", "quick"]


def test_a_failed_table_rests_longer_each_time_and_is_forgiven_when_it_succeeds() -> None:
    stage = Stage({"a": "t"})
    waits = []
    now = NOW
    for _ in range(4):
        stage.begin(now)
        stage.end(stage.start_all()[0], now, ERROR)
        began = now
        while not stage.plan(now):
            now += SECOND / 4
        waits.append((now - began).total_seconds())
    assert waits == sorted(waits)
    assert waits[0] < 3
    assert waits[3] > 10
    stage.begin(now)
    stage.end(stage.start_all()[0], now)
    stage.set("a", data_timestamp=NOW)
    assert stage.plan(now + timedelta(minutes=1)) == {"a"}


def test_consumers_of_a_resting_table_are_told_and_go_on_when_it_is_back() -> None:
    stage = Stage({"a": "t", "b": "a"})
    graph_run = stage.begin()
    stage.end(stage.start_all()[0], error=ERROR)
    [blocked] = stage.start_all()
    assert "waiting for default.a" in str(graph_run.next_step(blocked.key))
    graph_run.arrived["b"] = Arrival(_result(Action.SKIP), blocked=True)
    stage.dispatcher.ended(blocked, None, QUICK, NOW)
    assert stage.plan(NOW + SECOND) == set(), "b was tried for this stamp, a rests"
    later = NOW + 3 * SECOND
    stage.begin(later)
    [again] = stage.start_all()
    assert again.key == "a"
    stage.end(again, later)
    assert keys(stage.start_all()) == ["b"]


def test_consumers_of_a_suspended_table_are_not_tried_at_every_stamp() -> None:
    stage = Stage({"a": "t", "b": "a"})
    stage.set("a", status=Status.SUSPENDED)
    graph_run = stage.begin()
    for task in iter(stage.dispatcher.next, None):
        graph_run.arrived[task.key] = Arrival(blocked=True)
        stage.dispatcher.ended(task, None, QUICK, NOW)
    assert stage.plan(NOW + timedelta(minutes=5)) == set()
    stage.set("a", status=Status.ACTIVE)
    stage.dag_version += 1
    assert stage.plan(NOW + timedelta(minutes=5)) == {"a", "b"}


def test_a_table_that_somebody_else_holds_does_not_rest_longer_each_time() -> None:
    stage = Stage({"a": "t"})
    now = NOW
    for _ in range(8):
        stage.begin(now)
        [task] = stage.start_all()
        task.graph_run.arrived["a"] = Arrival(blocked=True)
        stage.dispatcher.ended(task, TableBusy(name="a", holder="x", until="soon"), QUICK, now)
        now += 3 * SECOND
        assert stage.plan(now) == {"a"}
        stage.dispatcher._tried.clear()


def test_the_end_of_a_rest_frees_consumers_that_only_pull_the_table() -> None:
    stage = Stage({"u": "t", "c": "u"}, lag=86_400)
    stage.set("u", data_timestamp=NOW)
    stage.set("c", data_timestamp=NOW - timedelta(days=3))
    graph_run = stage.begin()
    stage.end(stage.start_all()[0], error=ERROR)
    [blocked] = stage.start_all()
    graph_run.arrived["c"] = Arrival(_result(Action.SKIP), blocked=True)
    stage.dispatcher.ended(blocked, None, QUICK, NOW)
    assert stage.plan(NOW + SECOND) == set()
    assert stage.plan(NOW + 3 * SECOND) == {"c"}


def test_a_woken_consumer_of_a_resting_table_is_told_once() -> None:
    stage = Stage({"u": "t", "c": "u"}, lag=86_400)
    stage.set("u", data_timestamp=NOW)
    stage.set("c", data_timestamp=NOW - timedelta(days=3))
    graph_run = stage.begin()
    stage.end(stage.start_all()[0], error=ERROR)
    [blocked] = stage.start_all()
    graph_run.arrived["c"] = Arrival(_result(Action.SKIP), blocked=True)
    stage.dispatcher.ended(blocked, None, QUICK, NOW)
    stage.set("c", data_timestamp=NOW)
    assert stage.plan(NOW + SECOND, woken=("c",)) == set()


def test_a_woken_table_is_wanted_before_its_stamp() -> None:
    stage = Stage({"a": "t"})
    stage.set("a", data_timestamp=NOW)
    assert stage.plan(NOW + SECOND) == set()
    assert stage.plan(NOW + SECOND, woken=("a",)) == {"a"}


def test_while_paused_what_is_left_of_a_tour_waits() -> None:
    stage = Stage({"a": "t", "b": "a"})
    stage.begin()
    [running] = stage.start_all()
    stage.dispatcher.paused = True
    stage.end(running)
    assert stage.start_all() == []
    stage.dispatcher.paused = False
    assert keys(stage.start_all()) == ["b"]


def test_after_a_long_pause_what_is_left_sets_out_anew_to_the_newest_versions() -> None:
    stage = Stage({"a": "x", "b": "a", "c": "x"}, workers=1)
    old = stage.begin()
    (task,) = stage.start_all()
    stage.dispatcher.paused = True
    stage.end(task)
    later = NOW + timedelta(days=7)
    assert stage.start_all() == []
    stage.dispatcher.paused = False
    new = stage.begin(later)
    assert sorted(old.left()) == ["b", "c"]
    assert new.wanted == {"a", "b", "c"}
    assert [each.graph_run for each in stage.start_all()] == [new]


def test_a_refresh_that_runs_through_a_pause_keeps_its_tour() -> None:
    stage = Stage({"a": "x", "b": "a"})
    stage.begin()
    (task,) = stage.start_all()
    stage.dispatcher.paused = True
    stage.dispatcher.paused = False
    later = NOW + timedelta(days=7)
    assert stage.plan(later) == set()
    stage.end(task, later)
    assert keys(stage.start_all()) == ["b"]


def test_after_stop_nothing_is_started() -> None:
    stage = Stage({"a": "t", "b": "a"})
    stage.begin()
    [running] = stage.start_all()
    stage.dispatcher.stop()
    stage.end(running)
    assert stage.start_all() == []


def test_a_tour_that_could_not_begin_is_tried_again_after_a_rest_not_at_the_next_stamp() -> None:
    class Down:
        def woken(self, keys: object) -> frozenset[str]:
            return frozenset()

        def begin(self, *what: object) -> GraphRun:
            raise CatalogError(why="gone for a moment", fix="wait")

    stage, clock = Stage({"a": "t"}, lag=86_400), FakeClock(NOW)
    stage.set("a", data_timestamp=NOW - timedelta(days=3))
    executor: Any = Down()
    with pytest.raises(CatalogError):
        begin_due(stage.dispatcher, executor, stage.picture(), clock, nullcontext())
    assert stage.plan(NOW + SECOND) == set()
    assert stage.plan(NOW + 3 * SECOND) == {"a"}


def test_a_tour_stands_for_the_moment_before_its_versions_were_pinned() -> None:
    stage, clock = Stage({"a": "t"}), FakeClock(NOW)

    class Slow:
        def woken(self, keys: object) -> frozenset[str]:
            return frozenset()

        def begin(self, wanted: frozenset[str], stamp: datetime, resting: frozenset[str]) -> GraphRun:
            clock.sleep(5)
            return GraphRun(GraphPart(stage.tables, stage.graph(), ("a",), {}), wanted, stamp, resting)

    executor: Any = Slow()
    begin_due(stage.dispatcher, executor, stage.picture(), clock, nullcontext())
    assert [task.graph_run.stamp for task in stage.start_all()] == [NOW]


def test_a_resumed_upstream_frees_its_consumers_at_once_not_at_their_next_stamp() -> None:
    stage = Stage({"u": "t", "c": "u"}, lag=86_400)
    stage.set("u", data_timestamp=NOW, status=Status.SUSPENDED)
    stage.set("c", data_timestamp=NOW - timedelta(days=3))
    graph_run = stage.begin()
    for task in iter(stage.dispatcher.next, None):
        graph_run.arrived[task.key] = Arrival(blocked=True)
        stage.dispatcher.ended(task, None, QUICK, NOW)
    assert stage.plan(NOW + SECOND) == set()
    stage.set("u", status=Status.ACTIVE)
    stage.dag_version += 1
    assert stage.plan(NOW + 2 * SECOND) == {"c"}


def test_tables_that_failed_together_do_not_come_back_together() -> None:
    stage = Stage({f"t{number}": "x" for number in range(20)}, workers=21)
    stage.begin()
    for task in stage.start_all():
        stage.end(task, error=ERROR)
    back = {stage.dispatcher._rests[key].until - NOW for key in stage.tables}
    assert len(back) == 20
    assert max(back) - min(back) > SECOND / 2
    assert min(back) >= 2 * SECOND * 0.75
    assert max(back) <= 2 * SECOND * 1.25


@pytest.mark.parametrize("failures", [1, 5, 40, 100_000])
def test_waits_are_bounded(failures: int) -> None:
    backoff = Backoff(SECOND, 60 * SECOND, random.Random(failures))
    assert SECOND * 0.75 <= backoff.wait(failures) <= 75 * SECOND


def test_a_table_whose_upstream_found_no_common_pins_is_tried_again_at_once() -> None:
    stage = Stage({"u": "t", "c": "u"})
    stage.set("u", data_timestamp=NOW)
    graph_run = stage.begin()
    [task] = stage.start_all()
    graph_run.arrived["u"] = Arrival(replace(_result(Action.SKIP), reason_code="INCONSISTENT_PINS"), blocked=True)
    stage.dispatcher.ended(task, None, QUICK, NOW)
    [blocked] = stage.start_all()
    graph_run.arrived["c"] = Arrival(replace(_result(Action.SKIP), reason_code="UPSTREAM_BLOCKED"), blocked=True)
    stage.dispatcher.ended(blocked, None, QUICK, NOW)
    assert stage.plan(NOW + SECOND) == {"c"}


def test_what_is_held_back_for_a_late_table_is_not_pulled_along_by_another_either() -> None:
    stage = Stage({"busy": "t", "free": "t", "late": "busy free", "other": "free"})
    for key in ("free", "late", "other"):
        stage.set(key, data_timestamp=NOW)
    stage.begin()
    [running] = stage.start_all()
    later = NOW + timedelta(minutes=2)
    assert stage.plan(later) == set()
    stage.end(running, later)
    assert stage.plan(later) == {"busy", "free", "late", "other"}


def test_a_late_table_that_waits_for_a_person_holds_nobody_back() -> None:
    stage = Stage({"stopped": "t", "slow": "t", "quick": "t", "late": "stopped slow quick"})
    stage.set("stopped", status=Status.SUSPENDED)
    stage.set("quick", data_timestamp=NOW)
    graph_run = stage.begin()
    graph_run.arrived["late"] = graph_run.arrived["quick"] = graph_run.arrived["stopped"] = Arrival(blocked=True)
    assert keys(stage.start_all()) == ["slow"]
    assert stage.plan(NOW + timedelta(minutes=1)) == {"quick"}


def test_quick_tables_that_are_at_work_all_the_time_leave_a_slow_one_its_turn() -> None:
    stage = Stage({"a": "t", "b": "t", "c": "t", "slow": "t"}, workers=2)
    stage.begin()
    while tasks := stage.start_all():
        for task in tasks:
            stage.end(task, took=SLOW if task.key == "slow" else QUICK)
    stage.set("slow", data_timestamp=NOW + timedelta(minutes=1))
    running: list[Task] = []
    for minute in range(1, 11):
        now = NOW + timedelta(minutes=minute)
        stage.begin(now)
        running += stage.start_all()
        if "slow" in keys(running):
            break
        stage.end(running.pop(0), now)
        running += stage.start_all()
        assert len(running) == 2
    assert "slow" in keys(running)
    stage.begin(now + timedelta(minutes=1))
    assert sum(stage.dispatcher.is_heavy(task.key) for task in stage.dispatcher.running) == 1


def test_slow_tables_never_have_all_workers() -> None:
    stage = Stage({"a": "t", "b": "t", "quick": "t"}, workers=2)
    stage.begin()
    while tasks := stage.start_all():
        for task in tasks:
            stage.end(task, took=QUICK if task.key == "quick" else SLOW)
    stage.set("quick", data_timestamp=NOW - timedelta(hours=1))
    stage.begin(NOW + timedelta(minutes=1))
    running = stage.start_all()
    assert keys(running) == ["quick", "a"]
    stage.end(running[0], NOW + timedelta(minutes=1))
    assert stage.start_all() == []


def test_a_table_that_a_person_brought_forward_rests_no_longer_nor_do_its_consumers() -> None:
    stage = Stage({"a": "t", "b": "a"})
    stage.dispatcher.backoff = Backoff(300 * SECOND, 300 * SECOND, random.Random(1))
    graph_run = stage.begin()
    stage.end(stage.start_all()[0], error=ERROR)
    [blocked] = stage.start_all()
    graph_run.arrived["b"] = Arrival(_result(Action.SKIP), blocked=True)
    stage.dispatcher.ended(blocked, None, QUICK, NOW)
    assert stage.plan(NOW + timedelta(minutes=1)) == set()
    stage.set("a", data_timestamp=NOW + timedelta(minutes=1))
    assert stage.plan(NOW + timedelta(minutes=1)) == {"b"}
    assert stage.plan(NOW + timedelta(minutes=2)) == {"a", "b"}


def test_a_table_in_error_waits_to_be_woken_and_its_consumers_with_it() -> None:
    stage = Stage({"a": "t", "b": "a"})
    stage.begin()
    fail(stage)
    assert keys(stage.start_all()) == ["b"]
    stage.end_blocked("b")
    later = NOW + 5 * SECOND
    assert stage.dispatcher.asleep(stage.picture(), NOW) == set(), "it rests"
    assert stage.dispatcher.asleep(stage.picture(), later) == {"a"}
    assert stage.plan(later) == set()
    assert stage.plan(later, woken=("a",)) == {"a"}


def test_a_table_in_error_that_goes_on_frees_its_consumers_at_once() -> None:
    stage = Stage({"a": "t", "b": "a"})
    stage.begin()
    fail(stage)
    stage.start_all()
    stage.end_blocked("b")
    later = NOW + 5 * SECOND
    stage.begin(later, woken=("a",))
    (task,) = stage.start_all()
    assert task.key == "a"
    stage.set("a", status=Status.ACTIVE)
    stage.end(task, later)
    assert stage.plan(later) == {"b"}


def test_a_table_that_fails_on_every_change_rests_longer_each_time() -> None:
    stage = Stage({"a": "t"})
    stage.begin()
    fail(stage)
    now, waits = NOW, []
    for _ in range(5):
        since = now
        while "a" not in stage.dispatcher.asleep(stage.picture(), now):
            now += SECOND / 4
        waits.append(now - since)
        stage.begin(now, woken=("a",))
        fail(stage, now)
    assert waits == sorted(waits)
    assert waits[-1] > 8 * waits[0]


@pytest.mark.parametrize("change", [{"status": Status.ACTIVE}, {"definition_hash": "other"}])
def test_who_is_resumed_or_given_another_definition_rests_no_longer(change: dict[str, Any]) -> None:
    stage = Stage({"a": "t"})
    stage.begin()
    fail(stage)
    assert stage.plan(NOW, woken=("a",)) == set()
    stage.set("a", **change)
    stage.dag_version += 1
    assert stage.plan(NOW, woken=("a",)) == {"a"}


def fail(stage: Stage, now: datetime = NOW) -> None:
    """What is to be worked on next ends in an error of the kind that stops it."""
    task = stage.dispatcher.next()
    assert task is not None
    stage.set(task.key, status=Status.ERROR)
    stage.plan(now)
    stage.end(task, now, error=ERROR)
