"""Random queries, bound by Spark, through random histories on DuckDB: every round must be exact.

A query that is refused counts as a failure: the generator only writes what has a delta rule. A failing case is printed
at its smallest, as SQL. `PENSTOCK_SEEDS=100:200` runs other seeds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING

import pytest

from penstock.compile.plan import Plan, compile_query
from penstock.operators.source import Source
from penstock.testing.duckdb_runner import Difference, run_history
from penstock.testing.strategies import (
    SHARED,
    History,
    Query,
    Schema,
    random_history,
    random_query,
    random_schema,
    shrink,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMAS = 3
ROUNDS = 20
Bind = Callable[[str], Plan]


@pytest.fixture(scope="module")
def schemas(spark: SparkSession) -> Iterator[list[Schema]]:
    made = [random_schema(Random(1000 + number), SHARED, prefix=f"p{number}_") for number in range(SCHEMAS)]
    for schema in made:
        for table in schema.tables:
            spark.sql(table.ddl)
    yield made
    for schema in made:
        for table in schema.tables:
            spark.sql(f"DROP TABLE {table.name}")


@pytest.fixture(scope="module")
def planned(spark: SparkSession) -> Callable[[Query], Plan]:
    from penstock.engine.bind.bind_query import SparkAnalyzer

    analyzer = SparkAnalyzer(spark, lambda path, name: Source(name, name, path), lambda name: None, {}, spark)
    return lambda query: compile_query(analyzer.bind(query.text), query.key)


def check(plan: Plan, query: Query, history: History, seed: int, netted: bool = False, every: int = 1) -> int:
    """Run a case; a failure is shrunk and printed. Of every two seeds one narrows whatever it can."""
    narrowed = seed % 2 == 1
    assert plan.refused is None, f"seed {seed}: refused with {plan.refused}\n{query.text}"
    try:
        return run_history(plan, query.text, history, netted, every, narrowed=narrowed)
    except Difference as difference:

        def fails(smaller: History) -> bool:
            try:
                run_history(plan, query.text, smaller, netted, every, narrowed=narrowed)
            except Difference:
                return True
            return False

        smallest = shrink(history, fails, patience=200)
        pytest.fail(f"seed {seed}, stored as {plan.store.strategy}: {difference}\n{smallest.script(query.text)}")


def _run(
    seeds: range, schemas: list[Schema], planned: Callable[[Query], Plan], rounds: int
) -> tuple[int, Counter[str]]:
    cases, strategies = 0, Counter[str]()
    for seed in seeds:
        schema = schemas[seed % SCHEMAS]
        query = random_query(Random(seed), schema, shared=True)
        history = random_history(Random(seed + 1), schema, sorted(query.tables), rounds)
        plan = planned(query)
        cases += check(plan, query, history, seed, netted=seed % 5 == 0, every=3 if seed % 7 == 0 else 1)
        strategies[plan.store.strategy] += 1
    return cases, strategies


def test_random_queries_stay_exact(schemas: list[Schema], planned: Callable[[Query], Plan]) -> None:
    low, _, high = os.environ.get("PENSTOCK_SEEDS", "0:24").partition(":")
    cases, strategies = _run(range(int(low), int(high)), schemas, planned, ROUNDS)
    assert cases > 10 * (int(high) - int(low))
    if int(high) - int(low) >= 24:
        assert set(strategies) == {"bag", "folded groups", "recomputed groups", "declared key"}


@pytest.mark.slow
def test_many_random_queries_stay_exact(schemas: list[Schema], planned: Callable[[Query], Plan]) -> None:
    _run(range(1000, 1600), schemas, planned, ROUNDS)


TWINS = {
    "CTE or subquery": (
        "WITH c AS (SELECT k, count(*) AS n FROM {t0} GROUP BY k) SELECT x.k, y.n FROM c AS x JOIN c AS y ON x.n = y.n",
        "SELECT x.k, y.n FROM (SELECT k, count(*) AS n FROM {t0} GROUP BY k) AS x "
        "JOIN (SELECT k, count(*) AS n FROM {t0} GROUP BY k) AS y ON x.n = y.n",
    ),
    "other aliases": (
        "SELECT a.k AS c0, max(b.k) AS c1 FROM {t0} AS a JOIN {t1} AS b ON a.k = b.k GROUP BY a.k",
        "SELECT b.k AS c0, max(a.k) AS c1 FROM {t0} AS b JOIN {t1} AS a ON b.k = a.k GROUP BY b.k",
    ),
    "reordered joins": (
        "SELECT a.k, c.k AS j FROM {t0} AS a JOIN {t1} AS b ON a.k = b.k JOIN {t2} AS c ON b.k < c.k",
        "SELECT a.k, c.k AS j FROM {t2} AS c JOIN {t1} AS b ON b.k < c.k JOIN {t0} AS a ON a.k = b.k",
    ),
    "projection inside or outside": (
        "SELECT x + 1 AS y FROM (SELECT k * 2 AS x FROM {t0}) AS i WHERE x > 2",
        "SELECT k * 2 + 1 AS y FROM {t0} WHERE k * 2 > 2",
    ),
    "DISTINCT or GROUP BY": ("SELECT DISTINCT k FROM {t0}", "SELECT k FROM {t0} GROUP BY k"),
    "join condition or WHERE": (
        "SELECT a.k FROM {t0} AS a JOIN {t1} AS b ON a.k = b.k",
        "SELECT a.k FROM {t0} AS a, {t1} AS b WHERE a.k = b.k",
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_twins_agree(name: str, schemas: list[Schema], planned: Callable[[Query], Plan]) -> None:
    """Two ways to say one thing follow the same history; each is compared with the *other's* text."""
    schema = schemas[0]
    tables = {f"t{number}": table.name for number, table in enumerate(schema.tables)}
    one, two = (
        Query(text.format(**tables), frozenset(name for key, name in tables.items() if "{" + key + "}" in text))
        for text in TWINS[name]
    )
    history = random_history(Random(name), schema, sorted(one.tables), ROUNDS)
    for ours, theirs in ((one, two), (two, one)):
        assert run_history(planned(ours), theirs.text, history) == ROUNDS


def test_many_refreshes_or_one(schemas: list[Schema], planned: Callable[[Query], Plan]) -> None:
    for seed in range(500, 504):
        schema = schemas[seed % SCHEMAS]
        query = random_query(Random(seed), schema, shared=True)
        history = random_history(Random(seed), schema, sorted(query.tables), ROUNDS)
        plan = planned(query)
        for every in (1, 5, ROUNDS):
            check(plan, query, history, seed, every=every)
