"""Mode AUTO takes the cheaper way and says so; whichever it takes, the rows are the query's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.refresh.stages import cost
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

QUERY = "SELECT k, count(*) AS n, sum(v) AS total FROM t GROUP BY k"


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which every changed row takes a second."""
    monkeypatch.setattr(cost, "_CHANGED", (1.0, 0.0))


def made(ps: StreamTables, mode: str) -> None:
    ps.sql("CREATE TABLE t AS SELECT id % 5 AS k, id AS v FROM range(50)")
    ps.create_stream_table("st", QUERY, refresh_mode=mode)


def test_a_small_change_is_applied(ps: StreamTables) -> None:
    made(ps, "AUTO")
    ps.sql("UPDATE t SET v = v + 1 WHERE v < 3")
    done = ps.refresh("st")
    assert (done.action.value, done.reason_code) == ("INCREMENTAL", None)
    assert_exact(ps, "st")


@pytest.mark.usefixtures("dear")
def test_auto_recomputes_where_that_is_cheaper_and_says_so(ps: StreamTables) -> None:
    made(ps, "AUTO")
    ps.create_stream_table("reader", "SELECT sum(total) AS all_of_it FROM st", refresh_mode="INCREMENTAL")
    ps.sql("UPDATE t SET v = v + 1 WHERE v < 9")
    told = ps.explain("st")
    assert told.choice is not None
    assert "AUTO → FULL" in told.text()
    assert told.to_json()["choice"]["action"] == "FULL"
    assert ps.refresh("reader").action.value == "INCREMENTAL"
    newest = ps.history("st")[0]
    assert newest.action.value == "FULL"
    assert newest.reason is not None
    assert newest.reason.startswith("CHEAPER: incremental ")
    # With a reader, only what differs is committed.
    assert newest.rows_inserted == newest.rows_deleted
    assert_exact(ps, "st")
    assert_exact(ps, "reader")


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize("mode", ["INCREMENTAL", "FULL"])
def test_a_pinned_mode_stays_whatever_it_costs(ps: StreamTables, mode: str) -> None:
    made(ps, mode)
    ps.sql("DELETE FROM t WHERE v < 9")
    assert ps.refresh("st").action.value == mode
    ps.alter_stream_table("st", refresh_mode="AUTO")
    ps.sql("DELETE FROM t WHERE v < 19")
    assert ps.refresh("st").action.value == "FULL"
    ps.alter_stream_table("st", refresh_mode="INCREMENTAL")
    ps.sql("DELETE FROM t WHERE v < 29")
    assert ps.refresh("st").action.value == "INCREMENTAL"
    assert_exact(ps, "st")


def test_an_upstream_that_is_rewritten_is_recomputed(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t AS SELECT id % 5 AS k, id AS v FROM range(2000)")
    ps.create_stream_table("up", "SELECT k, v FROM t", refresh_mode="FULL")
    ps.create_stream_table("st", "SELECT k, sum(v) AS total FROM up GROUP BY k")
    ps.sql("UPDATE t SET v = v + 1")
    ps.refresh("up")
    told = ps.explain("st")
    assert told.rows_changed > 2000
    assert "AUTO → FULL" in told.text()
    done = ps.refresh("st")
    assert (done.action.value, done.reason_code) == ("FULL", "CHEAPER")
    assert "more than the 2,000 that there are" in (done.reason or "")
    assert ps.history("st")[0].action.value == "FULL"
    assert_exact(ps, "st")


def estimates(ps: StreamTables, name: str) -> str:
    return next(line for line in ps.explain(name).text().splitlines() if line.startswith("  estimates"))


def test_explain_always_has_the_estimates_of_auto(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t AS SELECT id % 5 AS k, id AS v FROM range(50)")
    ps.create_stream_table("later", QUERY, initialize=False)
    assert estimates(ps, "later") == "  estimates  none before the first fill"
    ps.create_stream_table("st", QUERY)
    assert "for 1 changed row: incremental " in estimates(ps, "st")
    ps.sql("UPDATE t SET v = v + 1 WHERE v < 3")
    assert estimates(ps, "st").startswith("  estimates  incremental ")
    changed = ps.refresh("st").delta_rows
    assert f"for {changed} changed rows: incremental " in estimates(ps, "st")
    ps.create_stream_table("dice", "SELECT k, rand() AS r FROM t")
    assert estimates(ps, "dice").startswith("  estimates  none, every refresh is a full one, the last took ")
    ps.create_stream_table("pinned", "SELECT k, rand() AS r FROM t", refresh_mode="FULL")
    assert "estimates" not in ps.explain("pinned").text()


def test_a_run_is_told_with_one_figure_everywhere(ps: StreamTables) -> None:
    made(ps, "AUTO")
    ps.sql("UPDATE t SET v = v + 1 WHERE v < 3")
    done = ps.refresh("st")
    newest, first = ps.history("st", 2)
    assert newest.seconds == pytest.approx(done.seconds, abs=1e-5)
    assert newest.seconds is not None
    assert newest.timings is not None
    assert newest.seconds >= sum(newest.timings.values())
    choice = ps.explain("st").choice
    assert choice is not None
    assert (choice.incremental.last, choice.full.last) == (newest.seconds, first.seconds)


def test_history_keeps_what_the_estimates_are_made_of(ps: StreamTables) -> None:
    made(ps, "AUTO")
    ps.sql("UPDATE t SET v = v + 1 WHERE v < 3")
    ps.refresh("st")
    newest, first = ps.history("st", 2)
    assert newest.operators == first.operators == ("aggregate", "folded groups", "project", "scan")
    for each in (newest, first):
        assert (each.bytes_at_rest or 0) > 0
        assert (each.bytes_read or 0) > 0
        assert (each.bytes_written or 0) > 0
    assert (newest.delta_bytes or 0) > 0
