"""The hand-made queries of the goldens through random histories on DuckDB, without a JVM."""

from __future__ import annotations

from random import Random

import pytest

from bound_queries import CASES, SCHEMA, Case
from penstock.testing.duckdb_runner import run_history
from penstock.testing.strategies import random_history


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
@pytest.mark.parametrize("way", ["as planned", "netted", "narrowed"])
def test_every_round_is_exact(case: Case, way: str) -> None:
    history = random_history(Random(case.title), SCHEMA, rounds=20)
    assert run_history(case.plan, case.sql, history, netted=way == "netted", narrowed=way == "narrowed") == 20
