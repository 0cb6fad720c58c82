"""Mode AUTO goes by what past runs took, not by its guess alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from penstock.refresh.attempt import Attempt
from penstock.refresh.stages import cost
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


@pytest.fixture(scope="module")
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
    monkeypatch.setattr(Attempt, "seconds", property(lambda self: sum(self.timings.values())))
    return pace


class Watched:
    """A stream table in mode AUTO whose refreshes take as long as is said."""

    def __init__(self, ps: StreamTables, pace: list[float]) -> None:
        self._ps, self._pace, self._turns = ps, pace, count()
        ps.sql("CREATE TABLE t AS SELECT id % 5 AS k, id AS v FROM range(50)")
        ps.create_stream_table("st", "SELECT k, count(*) AS n, sum(v) AS total FROM t GROUP BY k")

    def refreshed(self, pace: float) -> str:
        """The action of a refresh of which each stage takes so many seconds."""
        self._ps.sql(f"UPDATE t SET v = v + 1 WHERE v % 10 = {next(self._turns) % 10}")
        self._pace[0] = pace
        done = self._ps.refresh("st")
        assert_exact(self._ps, "st")
        return done.action.value


def test_a_mode_that_turns_out_slow_is_left(ps: StreamTables, seconds_per_stage: list[float]) -> None:
    st = Watched(ps, seconds_per_stage)
    assert st.refreshed(0.01) == "INCREMENTAL"
    assert st.refreshed(100.0) == "INCREMENTAL"
    assert st.refreshed(0.01) == "FULL"
    newest = ps.history("st")[0]
    assert newest.reason is not None
    assert "incremental" in newest.reason
    assert "(from 2 runs, the last took 900.00 s)" in newest.reason
    # And back, once the other one is the slower.
    assert st.refreshed(1_000_000.0) == "FULL"
    assert st.refreshed(0.01) == "INCREMENTAL"


def test_the_mode_that_loses_is_tried_again_within_the_budget(
    ps: StreamTables, seconds_per_stage: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "FEW", 3)
    monkeypatch.setattr(cost, "_PROBE_WITHIN", 1000)
    seconds_per_stage[0] = 10.0
    st = Watched(ps, seconds_per_stage)

    def probing(percent: int) -> None:
        settings = replace(ps.settings, probe_percent=percent)
        monkeypatch.setattr(ps._warehouse.refresher, "settings", settings)

    probing(0)
    assert [st.refreshed(0.01) for _ in range(3)] == ["INCREMENTAL"] * 3
    probing(100)
    assert st.refreshed(10.0) == "FULL"
    reason = ps.history("st")[0].reason or ""
    assert reason.startswith("PROBE: incremental ")
    assert "trying the one that seems slower" in reason
    assert st.refreshed(0.01) == "INCREMENTAL"
