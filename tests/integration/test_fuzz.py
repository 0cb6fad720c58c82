"""A slice of the fuzzer: one history that a batch of random queries follows. `make fuzz` runs as long as you like."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from fuzz.grammar import random_query
from fuzz.history import TABLES, random_history
from fuzz.part import part, smaller
from fuzz.runner import PER_HISTORY, Followed, apply, follow, history_of, query_of, reset
from fuzz.shrink import fails
from small_tables import bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORY = 1
QUERIES = 2


@pytest.mark.slow
def test_random_queries_follow_their_sources(spark: SparkSession, tmp_path: Path) -> None:
    cases = [HISTORY * PER_HISTORY + number for number in range(QUERIES)]
    history = history_of(cases[0])
    with bench(spark, tmp_path, TABLES) as at:
        reset(at, history)
        drawn = [(case, query_of(case, at.oracle)) for case in cases]
        tables = [Followed(case, f"st{case}", query) for case, query in drawn if query is not None]
        follow(at, history, tables)
    assert len(tables) == QUERIES
    failed = [f"case {table.case}: {table.query.text}\n{table.failure}" for table in tables if table.failure]
    assert not failed, "\n\n".join(failed)
    assert any("INCREMENTAL" in table.actions for table in tables)


def test_a_wrong_row_is_seen(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzer can fail: a refresh that does nothing is found out."""
    history = history_of(HISTORY * PER_HISTORY)
    with bench(spark, tmp_path, TABLES) as at:
        monkeypatch.setattr("fuzz.runner.refresh", lambda bench, table, number: None)
        monkeypatch.setattr("fuzz.runner.apply", lambda bench, changes: (apply(bench, changes), bench.delete("ta")))
        found = fails(at, 1, part("query", "SELECT r1.k AS c0 FROM ta AS r1"), history)
    assert found is not None
    assert found.kind == "WRONG ROWS"


def test_the_same_number_gives_the_same_case() -> None:
    for number in range(30):
        assert random_query(Random(number)) == random_query(Random(number))
        assert repr(random_history(Random(number))) == repr(random_history(Random(number)))


def test_smaller_queries_are_smaller_and_come_to_an_end() -> None:
    query = random_query(Random(4))
    steps = 0
    while (found := next(smaller(query), None)) is not None:
        assert len(found.text) < len(query.text)
        query, steps = found, steps + 1
    assert steps
