"""Recorded queries through random histories on DuckDB, without a JVM: every refresh must leave the query's rows.

What is proven, for the bound trees that Spark made of these queries: lowering, pruning, the choice of the store, every
delta rule and every statement of a program, against the query's own text over the rows of now, as bags. Counts of
visible rows and stored weights are checked too. Every row that a leaf may leave out is left out in half of the cases.

What is not: that Spark binds the queries to these trees (tests/golden/bound compares that, with Spark), and what only
Spark defines: overflow, NaN, time zones, decimal averages, generators, the clock, user-defined functions. The engine
around the programs (reading intervals, pruning files, committing) is not there either.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest

from penstock.compile.plan import Plan, compile_query
from penstock.testing.duckdb_runner import Difference, run_history
from penstock.testing.recorded_bindings import RecordedBindings
from penstock.testing.strategies import History, Query, random_history, shrink
from recorded_queries import FOLDER, SCHEMAS, SHAPES, TWINS

ROUNDS = 8


@cache
def recordings(name: str) -> RecordedBindings:
    return RecordedBindings.read(FOLDER / f"{name}.json")


CASES = [(name, place) for name in SCHEMAS for place in range(len(recordings(name).queries))]


def compiled(recorded: RecordedBindings, query: Query) -> Plan:
    plan = compile_query(recorded.bind(query.text), query.key)
    assert plan.refused is None, f"refused with {plan.refused}\n{query.text}"
    return plan


def check(recorded: RecordedBindings, query: Query, seed: int, rounds: int = ROUNDS) -> int:
    """Follow one random history; a failing one is printed at its smallest, as SQL."""
    plan = compiled(recorded, query)
    history = random_history(Random(seed), recorded.schema, sorted(query.tables), rounds)

    def run(one: History) -> int:
        return run_history(plan, query.text, one, netted=seed % 5 == 0, narrowed=seed % 2 == 1)

    def fails(smaller: History) -> bool:
        try:
            run(smaller)
        except Difference:
            return True
        return False

    try:
        return run(history)
    except Difference as difference:
        smallest = shrink(history, fails, patience=200)
        pytest.fail(f"seed {seed}, stored as {plan.store.strategy}: {difference}\n{smallest.script(query.text)}")


@pytest.mark.parametrize(("name", "place"), CASES)
def test_every_refresh_is_exact(name: str, place: int) -> None:
    recorded = recordings(name)
    assert check(recorded, recorded.queries[place], seed=place) == ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), CASES)
def test_many_histories_are_exact(name: str, place: int) -> None:
    recorded = recordings(name)
    for seed in range(100, 103):
        check(recorded, recorded.queries[place], seed, rounds=20)


@pytest.mark.parametrize("name", TWINS)
def test_twins_agree(name: str) -> None:
    """Two ways to say one thing follow the same history; each is compared with the *other's* text."""
    recorded = recordings("shapes")
    one, two = (next(query for query in recorded.queries if query.text == text) for text in TWINS[name])
    history = random_history(Random(name), recorded.schema, sorted(one.tables), ROUNDS)
    for ours, theirs in ((one, two), (two, one)):
        assert run_history(compiled(recorded, ours), theirs.text, history) == ROUNDS


def test_many_refreshes_or_one() -> None:
    recorded = recordings("random_0")
    for query in recorded.queries[:8]:
        history = random_history(Random(query.text), recorded.schema, sorted(query.tables), ROUNDS)
        plan = compiled(recorded, query)
        for every in (1, 5, ROUNDS):
            run_history(plan, query.text, history, every=every)


def test_every_store_and_operator_but_two_occur() -> None:
    """The runner has neither a clock nor LATERAL VIEW."""
    plans = [compiled(recordings(name), recordings(name).queries[place]) for name, place in CASES]
    strategies = Counter(plan.store.strategy for plan in plans)
    assert set(strategies) == {
        "bag",
        "declared key",
        "first rows",
        "folded groups",
        "folded groups, the first shown",
        "recomputed groups",
    }
    operators = {node.__class__.__name__ for plan in plans if plan.store.root for node in plan.store.root.nodes()}
    known = {
        *("Aggregate", "Constant", "Filter", "InnerJoin", "Limit", "OneSidedJoin", "Project", "Scan", "UnionAll"),
        "Window",
    }
    assert operators == known


def test_every_shape_is_recorded() -> None:
    texts = {query.text for query in recordings("shapes").queries}
    assert texts == {*SHAPES.values(), *(twin for pair in TWINS.values() for twin in pair)}
