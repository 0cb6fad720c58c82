"""What a refresh caches in Spark is let go of, however it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engine.run.program import Program
from penstock.errors import CommitConflict, KeyViolated, QueryFailed
from penstock.refresh.stages import commit as committing
from penstock.refresh.stages import compute
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

BY_K = "SELECT k, sum(v) AS s FROM t GROUP BY k"


@pytest.fixture
def large(ps: StreamTables, monkeypatch: pytest.MonkeyPatch) -> StreamTables:
    """A warehouse in which everything is too large for the driver, and nothing is written to files beforehand."""
    ps.spark.catalog.clearCache()
    monkeypatch.setattr(compute, "SMALL_RESULT", 0)
    ps._warehouse.set_settings(replace(ps.settings, delta_rs_max_rows=0, apply="spark"))
    ps.sql("CREATE TABLE t AS SELECT id % 5 AS k, id AS v FROM range(20)")
    return ps


def holds(ps: StreamTables) -> bool:
    """True if anything is cached."""
    return not ps.spark._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.fixture
def held(large: StreamTables, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether anything was cached when a program was closed."""
    seen: list[bool] = []
    close = Program.close

    def noted(program: Program) -> None:
        seen.append(holds(large))
        close(program)

    monkeypatch.setattr(Program, "close", noted)
    return seen


def test_after_a_fill_and_a_refresh(large: StreamTables, held: list[bool]) -> None:
    large.create_stream_table("st", BY_K, refresh_mode="INCREMENTAL")
    large.sql("INSERT INTO t VALUES (1, 1)")
    assert large.refresh("st").action == "INCREMENTAL"
    assert_exact(large, "st")
    assert (held, holds(large)) == ([True, True], False)


def test_after_rows_that_break_the_key(large: StreamTables, held: list[bool]) -> None:
    with pytest.raises(KeyViolated):
        large.create_stream_table("st", "SELECT k, v FROM t", key=["k"])
    assert (held, holds(large)) == ([True], False)


def test_after_a_query_that_fails(large: StreamTables, held: list[bool]) -> None:
    large.create_stream_table("st", "SELECT k, sum(100 / (v + 1)) AS s FROM t GROUP BY k", refresh_mode="INCREMENTAL")
    held.clear()
    large.sql("INSERT INTO t VALUES (1, -1)")
    with pytest.raises(QueryFailed):
        large.refresh("st")
    assert (len(held), holds(large)) == (3, False)


def test_after_a_commit_that_does_not_land(
    large: StreamTables, held: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(*_: Any, **__: Any) -> None:
        raise CommitConflict(name="st", why="somebody was faster")

    large.create_stream_table("st", BY_K, refresh_mode="INCREMENTAL")
    held.clear()
    large.sql("INSERT INTO t VALUES (1, 1)")
    monkeypatch.setattr(committing, "write_change", overtaken)
    with pytest.raises(CommitConflict):
        large.refresh("st")
    assert (held, holds(large)) == ([True], False)


@pytest.mark.parametrize("query", [BY_K, "SELECT k, v FROM t"])
def test_after_a_fresh_read_whose_rows_can_be_read_all_the_same(
    large: StreamTables, held: list[bool], query: str
) -> None:
    large.create_stream_table("st", query, refresh_mode="INCREMENTAL")
    held.clear()
    large.sql("INSERT INTO t VALUES (1, 1), (9, 9)")
    rows = large.table("st", fresh=True)
    assert (held, holds(large)) == ([True], False)
    assert sorted(map(tuple, rows.collect())) == sorted(map(tuple, large.spark.sql(query).collect()))
