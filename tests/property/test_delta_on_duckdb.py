"""New random queries, bound by Spark, through random histories on DuckDB: every round must be exact.

The unit run does the same for recorded queries: tests/unit/compile/test_recorded_on_duckdb.py. A query that is refused
counts as a failure: the generator only writes what has a delta rule. A failing case is printed at its smallest, as SQL.
`PENSTOCK_SEEDS=100:200` runs other seeds.
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


@pytest.mark.slow
def test_random_queries_stay_exact(schemas: list[Schema], planned: Callable[[Query], Plan]) -> None:
    low, _, high = os.environ.get("PENSTOCK_SEEDS", "1000:1600").partition(":")
    cases, strategies = _run(range(int(low), int(high)), schemas, planned, ROUNDS)
    assert cases > 10 * (int(high) - int(low))
    if int(high) - int(low) >= 24:
        assert set(strategies) == {"bag", "folded groups", "recomputed groups", "declared key"}
