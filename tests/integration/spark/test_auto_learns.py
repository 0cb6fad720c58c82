"""Mode AUTO goes by what past runs took, not by its guess alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pytest

from penstock.refresh.attempt import Attempt
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


@pytest.fixture
def by_guess() -> None:
    """Here past runs count, and a stopwatch that is wound by hand says how long they took."""


@pytest.fixture
def seconds_per_stage(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What every stage of a refresh takes from now on, whatever it really takes."""
    pace = [0.01]

    @contextmanager
    def timed(self: Attempt, stage: str) -> Iterator[None]:
        self.timings[stage] = pace[0]
        yield

    monkeypatch.setattr(Attempt, "timed", timed)
    return pace


def test_a_mode_that_turns_out_slow_is_left(ps: StreamTables, seconds_per_stage: list[float]) -> None:
    ps.sql("CREATE TABLE t AS SELECT id % 5 AS k, id AS v FROM range(50)")
    ps.create_stream_table("st", "SELECT k, count(*) AS n, sum(v) AS total FROM t GROUP BY k")
    turns = count()

    def refreshed(pace: float) -> str:
        ps.sql(f"UPDATE t SET v = v + 1 WHERE v % 10 = {next(turns) % 10}")
        seconds_per_stage[0] = pace
        done = ps.refresh("st")
        assert_exact(ps, "st")
        return done.action.value

    assert refreshed(0.01) == "INCREMENTAL"
    assert refreshed(100.0) == "INCREMENTAL"
    assert refreshed(0.01) == "FULL"
    newest = ps.history("st")[0]
    assert newest.reason is not None
    assert "incremental" in newest.reason
    assert "(from 2 runs)" in newest.reason
    # And back, once the other one is the slower.
    assert refreshed(1_000_000.0) == "FULL"
    assert refreshed(0.01) == "INCREMENTAL"
