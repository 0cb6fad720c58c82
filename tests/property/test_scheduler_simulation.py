"""The scheduler over simulated worlds: thousands of ticks, random graphs, lags, failures, durations and clocks.

While a world runs, it asserts: upstreams before consumers, nobody at work on one table twice, frontiers and data
timestamps only grow, and what a table was really computed from is one version of every base table.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from simulated import Traits, World

from penstock.catalog.model import Status
from penstock.graph.grid import period
from penstock.refresh.graph_run import GraphRun
from penstock.schedule.due import Picture

ROUGH = Traits(tables=14, failing=0.15, breaking=0.02, poison=0.1, meddling=0.1, longest=8.0, commits_per_second=1.0)


@pytest.mark.parametrize("seed", range(20))
def test_a_rough_world_is_never_mixed_and_comes_to_rest_when_it_heals(seed: int) -> None:
    world = World(seed, ROUGH)
    world.run(300)
    assert world.refreshes > 50
    assert world.failures
    assert world.skips
    world.heal()
    # The longest back-off, the longest period, and time to work everything off.
    world.run(600)
    for key, meta in world.tables.items():
        newest = {base: world.versions[base] for base in world.contents[key][-1]}
        assert world.contents[key][-1] == newest, f"seed {seed}: {key} did not catch up ({meta.status})"


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_a_query_cannot_take_stop_it_until_they_are_mended_and_no_longer(seed: int) -> None:
    world = World(seed, Traits(tables=12, workers=12, longest=0.1, shortest_lag=5, commits_per_second=0.5, poison=0.3))
    world.run(600)
    assert world.failures > 10
    assert world.in_vain == 0, "nothing is tried again on what it has failed on twice"
    for key, meta in world.tables.items():
        if meta.status is Status.ERROR:
            at = world._stands_on(key)
            assert world._failed_on.get(key) == at or world.dispatcher._rests[key].failures, f"{key} is forgotten"
    world.heal()
    # The longest back-off, the longest period, and time to work everything off.
    world.run(600)
    for key, meta in world.tables.items():
        newest = {base: world.versions[base] for base in world.contents[key][-1]}
        assert (meta.status, world.contents[key][-1]) == (Status.ACTIVE, newest), f"seed {seed}: {key}"


def test_a_table_in_error_costs_nothing_while_nothing_changes() -> None:
    world = World(3, Traits(tables=1, bases=1, longest=0.1, shortest_lag=5, commits_per_second=0))
    world.versions["base0"] += 1
    world.poisoned = {("st00", "base0", 1)}
    world.run(60)
    assert (world.tables["st00"].status, world.failures) == (Status.ERROR, 2)
    world.run(3600)
    assert world.failures == 2
    world.versions["base0"] += 1
    world.run(90)
    assert (world.tables["st00"].status, world.contents["st00"][-1]) == (Status.ACTIVE, {"base0": 2})


@pytest.mark.parametrize("seed", range(20))
def test_the_promise_is_kept_when_there_is_capacity(seed: int) -> None:
    # Enough workers, and a whole chain of refreshes within a quarter of the tightest lag.
    world = World(seed, Traits(tables=12, workers=12, longest=0.1, shortest_lag=5, commits_per_second=2.0))
    world.run(60)
    world.worst.clear()
    world.run(600)
    lags = world.picture().lags
    broken = {key: str(worst) for key, worst in world.worst.items() if worst > lags[key]}
    assert not broken, f"seed {seed}: {broken}"
    assert world.worst.keys() == world.tables.keys()
    assert world.ticks > 1000


def test_a_table_that_is_forgotten_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a table that nobody looks at any more is late, though no refresh of it ever ends late."""
    world = World(0, Traits(tables=12, workers=12, longest=0.1, shortest_lag=5, commits_per_second=2.0))
    graph = world.picture().graph
    lost = next(key for key in sorted(world.tables) if not graph.downstream(key))
    world.run(60)
    world.worst.clear()
    monkeypatch.setattr(Picture, "scheduled", lambda self: (meta for key, meta in self.tables.items() if key != lost))
    world.run(600)
    lags = world.picture().lags
    assert {key for key, worst in world.worst.items() if worst > lags[key]} == {lost}


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_table_holds_up_its_own_consumers_only(seed: int) -> None:
    world = World(seed, Traits(tables=12, workers=6, longest=0.1, shortest_lag=5, commits_per_second=2.0))
    graph = world.picture().graph
    slow = min(world.tables, key=lambda key: (len(graph.downstream(key)), key))
    world.usual[slow] = 45.0
    world.run(120)
    world.worst.clear()
    world.run(600)
    lags = world.picture().lags
    broken = {key for key, worst in world.worst.items() if worst > lags[key]}
    assert broken <= {slow, *graph.downstream(slow)}, f"seed {seed}: {slow} is slow, and {sorted(broken)} are late"


@pytest.mark.parametrize("seed", range(10))
def test_a_clock_that_is_set_back_stops_nobody(seed: int) -> None:
    world = World(seed, Traits(longest=0.1, shortest_lag=5, clock_jumps=0.05))
    world.run(900)
    world.heal()
    world.run(10)
    world.worst.clear()
    world.run(300)
    lags = world.picture().lags
    assert world.wall.off < timedelta(0)
    assert not {key: worst for key, worst in world.worst.items() if worst > lags[key]}


@pytest.mark.parametrize("seed", range(3))
def test_a_consumer_of_upstreams_that_are_busy_in_turns_gets_its_turn(seed: int) -> None:
    world = World(seed, Traits(tables=3, bases=2, commits_per_second=1.0))
    world.reads = {"st00": ["base0"], "st01": ["base1"], "st02": ["st00", "st01"]}
    for key, (lag, takes) in {"st00": (60, 31.0), "st01": (60, 43.0), "st02": (300, 5.0)}.items():
        world.tables[key] = replace(world.tables[key], target_lag=timedelta(seconds=lag))
        world.usual[key] = takes
    world.run(1200)
    world.worst.clear()
    world.run(3600)
    assert world.worst["st02"] < timedelta(minutes=10)


@pytest.mark.parametrize(("seed", "lag", "takes"), [(0, 5, 0.1), (1, 5, 0.1), (2, 10, 3.0)])
def test_a_quick_table_is_not_held_back_for_a_slow_one_that_shares_its_consumer(
    seed: int, lag: int, takes: float
) -> None:
    world = World(seed, Traits(tables=3, bases=2, commits_per_second=2.0))
    world.reads = {"st00": ["base0"], "st01": ["base1"], "st02": ["st00", "st01"]}
    for key, (within, seconds) in {"st00": (60, 200.0), "st01": (lag, takes), "st02": (60, 0.1)}.items():
        world.tables[key] = replace(world.tables[key], target_lag=timedelta(seconds=within))
        world.usual[key] = seconds
    world.run(600)
    world.worst.clear()
    world.run(1200)
    assert world.worst["st01"] <= timedelta(seconds=lag)
    assert world.worst["st02"] < timedelta(minutes=10)


@pytest.mark.parametrize("seed", range(3))
def test_a_slow_table_gets_its_turn_among_more_quick_ones_than_the_workers_can_do(seed: int) -> None:
    world = World(seed, Traits(tables=9, bases=1, workers=2, commits_per_second=4.0))
    world.reads = {key: ["base0"] for key in world.tables}
    for key in world.tables:
        slow = key == "st08"
        world.tables[key] = replace(world.tables[key], target_lag=timedelta(seconds=60 if slow else 4))
        world.usual[key] = 5.0 if slow else 0.9
    world.run(60)
    world.worst.clear()
    world.run(600)
    assert world.worst["st08"] < timedelta(minutes=2)


def test_a_quiet_table_answers_the_first_commit_at_once() -> None:
    world = World(3, Traits(tables=1, bases=1, longest=0.1, commits_per_second=0))
    world.tables["st00"] = replace(world.tables["st00"], target_lag=timedelta(minutes=5))
    world.run(400)
    assert "st00" in world.dispatcher.quiet
    world.versions["base0"] += 1
    world.run(2)
    assert world.contents["st00"][-1] == {"base0": 1}
    assert period(timedelta(minutes=5)) > timedelta(seconds=60)
    world.versions["base0"] += 1
    world.run(2)
    assert world.contents["st00"][-1] == {"base0": 1}, "the second commit waits for the grid"


def test_a_tour_that_reads_whatever_is_newest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: consumers that do not read their upstreams at the graph run's vector mix states."""
    honest = GraphRun.pins

    def newest(self: GraphRun, key: str, arrived: object) -> object:
        pins = honest(self, key, arrived)  # type: ignore[arg-type]
        return None if pins is None else replace(pins, versions={**pins.versions, **world.versions})

    monkeypatch.setattr(GraphRun, "pins", newest)
    caught = set()
    for seed in range(5):
        world = World(seed, ROUGH)
        try:
            world.run(300)
        except AssertionError as wrong:
            caught.add(str(wrong).split()[1])
    assert caught == {"mixes"}
