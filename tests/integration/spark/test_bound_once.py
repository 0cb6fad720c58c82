"""A query is bound once on its way into force, and what `check` has found is not surveyed a second time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.engine.bind.bind_query import SparkAnalyzer
from penstock.engine.write import storage as storages
from penstock.errors import QueryFailed
from penstock.refresh.stages import survey as surveying
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that were bound."""
    queries: list[str] = []
    plain = SparkAnalyzer.bind

    def counted(self: SparkAnalyzer, query: str) -> Any:
        queries.append(query)
        return plain(self, query)

    monkeypatch.setattr(SparkAnalyzer, "bind", counted)
    return queries


@pytest.fixture
def surveys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stream tables that were surveyed."""
    names: list[str] = []
    plain = surveying._survey

    def counted(seen: Any, *given: Any) -> Any:
        names.append(seen.meta.name.table)
        return plain(seen, *given)

    monkeypatch.setattr(surveying, "_survey", counted)
    return names


def test_create_and_alter_bind_a_query_once(ps: StreamTables, bound: list[str]) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS k, 2 AS v")
    ps.sql("CREATE VIEW doubled AS SELECT k, v * 2 AS v FROM src")
    ps.create_stream_table("st", "SELECT k, sum(v) AS s FROM doubled GROUP BY k")
    assert len(bound) == 1
    ps.sql("INSERT INTO src VALUES (1, 3)")
    assert ps.refresh("st").action == "INCREMENTAL"
    assert len(bound) == 1, "the refresh goes on with the plan of CREATE"
    assert_exact(ps, "st")
    ps.sql("ALTER STREAM TABLE st AS SELECT k, max(v) AS s FROM doubled GROUP BY k")
    assert len(bound) == 2
    ps.sql("INSERT INTO src VALUES (1, 30)")
    assert ps.refresh("st").action == "INCREMENTAL"
    assert len(bound) == 2
    assert_exact(ps, "st")


def test_what_changed_since_it_was_proposed_is_bound_again(ps: StreamTables, bound: list[str]) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS k, 2 AS v")
    ps.sql("CREATE VIEW doubled AS SELECT k, v * 2 AS v FROM src")
    ps.create_stream_table("late", "SELECT * FROM doubled", initialize=False)
    ps.sql("CREATE OR REPLACE VIEW doubled AS SELECT k, v * 20 AS v FROM src")
    ps.create_stream_table("wider", "SELECT * FROM src", initialize=False)
    ps.sql("ALTER TABLE src ADD COLUMNS (more INT)")
    assert len(bound) == 2
    ps.refresh("late")
    ps.refresh("wider")
    assert len(bound) == 4
    assert [tuple(row) for row in ps.table("late").collect()] == [(1, 40)]
    assert ps.table("wider").columns == ["k", "v"]
    assert [tuple(row) for row in ps.table("wider").collect()] == [(1, 2)]
    assert_exact(ps, "late")


def test_a_refresh_surveys_each_table_once(ps: StreamTables, surveys: list[str]) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS k, 2 AS v")
    ps.create_stream_table("first", "SELECT k, v FROM src")
    ps.create_stream_table("second", "SELECT k, sum(v) AS s FROM first GROUP BY k")
    surveys.clear()
    ps.sql("INSERT INTO src VALUES (2, 3)")
    assert [each.action for each in ps.refresh_all()] == ["INCREMENTAL", "INCREMENTAL"]
    assert surveys == ["first", "second"]
    assert ps.table("second", fresh=True).count() == 2
    ps.sql("INSERT INTO src VALUES (2, 4)")
    surveys.clear()
    assert ps.table("first", fresh=True).count() == 3
    assert surveys == ["first"]


def test_a_rebuild_that_failed_leaves_no_plan_behind(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS k, 2 AS v; CREATE TABLE other AS SELECT 1 AS k, 0 AS v")
    ps.sql("CREATE VIEW seen AS SELECT k, v FROM src")
    ps.create_stream_table("st", "SELECT k, 10 / v AS s FROM seen", refresh_mode="INCREMENTAL")
    ps.sql("CREATE OR REPLACE VIEW seen AS SELECT k, v FROM other")
    with pytest.raises(QueryFailed, match="DIVIDE_BY_ZERO"):
        ps.refresh("st")
    ps.sql("CREATE OR REPLACE VIEW seen AS SELECT k, v FROM src; INSERT INTO src VALUES (2, 5)")
    ps.refresh("st")
    assert sorted(tuple(row) for row in ps.table("st").collect()) == [(1, 5.0), (2, 2.0)]
    assert_exact(ps, "st")


def test_a_look_and_a_refresh_without_data_give_their_handle_back(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS k, 2 AS v")
    ps.create_stream_table("st", "SELECT k, sum(v) AS s FROM src GROUP BY k")
    opened: list[str] = []
    plain = storages._opened

    def counted(path: str) -> Any:
        opened.append(path)
        return plain(path)

    monkeypatch.setattr(storages, "_opened", counted)
    ps.sql("INSERT INTO src VALUES (1, 3)")
    for _ in range(2):
        assert ps.table("st", fresh=True).collect()[0].s == 5
    assert ps.refresh("st").action == "INCREMENTAL"
    with monkeypatch.context() as patched:
        patched.setattr("penstock.refresh.run._is_quiet", lambda *_: False)
        for _ in range(2):
            assert ps.refresh("st").action == "NO_DATA"
    ps.sql("INSERT INTO src VALUES (1, 4)")
    assert ps.refresh("st").action == "INCREMENTAL"
    assert opened == []
    assert_exact(ps, "st")
