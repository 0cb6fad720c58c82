"""What the fuzzer found, in its smallest form, each named after what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.testing.by_rules import create_by_rules
from small_tables import SmallTable, bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = {"INCREMENTAL", "NO_DATA"}


@dataclass(frozen=True)
class Scenario:
    """Tables, a query over them, and rounds after each of which the stream table must equal the query."""

    name: str
    tables: tuple[str, ...]
    first: tuple[str, ...]
    query: str
    rounds: tuple[tuple[str, ...], ...]


SCENARIOS = (
    # Only the right side moved: the touched left rows had no change rows before them to give their columns names.
    Scenario(
        "only the right side of a left join moves",
        tables=(
            "ta (rid INT, k INT, g STRING, v INT, d DECIMAL(8,2), b BOOLEAN)",
            "tc (rid INT, k INT, v INT, x DOUBLE, s STRING)",
        ),
        first=(
            "INSERT INTO ta VALUES (1, 2, 'a', 3, 1.50, TRUE), (2, NULL, NULL, NULL, NULL, NULL)",
            "INSERT INTO tc VALUES (25, 2, -4, 3.0, ' a'), (26, NULL, -1, NULL, NULL)",
        ),
        query="SELECT CAST(r1.b AS INT) AS c0, max(r4.c0) AS c1 FROM ta AS r1 "
        "LEFT JOIN LATERAL (SELECT count(*) AS c0 FROM tc AS r3) AS r4 ON TRUE GROUP BY CAST(r1.b AS INT)",
        rounds=(("DELETE FROM tc WHERE rid IN (26)",), ("DELETE FROM tc",)),
    ),
    Scenario(
        "only the right side of an EXISTS under OR moves",
        tables=("ta (k INT, b BOOLEAN)", "td (k INT)"),
        first=("INSERT INTO ta VALUES (1, TRUE), (1, TRUE), (2, FALSE), (NULL, TRUE)", "INSERT INTO td VALUES (2)"),
        query="SELECT r1.k AS c0 FROM ta AS r1 WHERE NOT r1.b OR NOT EXISTS (SELECT 1 FROM td AS r2 WHERE r2.k = r1.k)",
        rounds=(("INSERT INTO td VALUES (1), (1), (NULL)",), ("DELETE FROM td WHERE k = 1",)),
    ),
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each.name for each in SCENARIOS])
def test_scenario(scenario: Scenario, spark: SparkSession, tmp_path: Path) -> None:
    with bench(spark, tmp_path, [SmallTable.parse(text) for text in scenario.tables]) as at:
        for statement in scenario.first:
            at.run(statement)
        create_by_rules(at.ps, "st", scenario.query)
        assert at.difference("st", scenario.query) is None
        for number, statements in enumerate(scenario.rounds, 1):
            for statement in statements:
                at.run(statement)
            done = at.ps.refresh("st")
            assert str(done.action) in GOOD, f"round {number}: {done.action} {done.reason_code}: {done.reason}"
            assert at.difference("st", scenario.query) is None, f"round {number}"
