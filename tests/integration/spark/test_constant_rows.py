"""Rows that no table feeds: filled once, then never changed; beside a table they are exact like any other input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

ALONE = {
    "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) t(a, b)": 2,
    "VALUES (1), (1)": 2,
    "SELECT 1 AS one": 1,
    "SELECT id * 2 AS twice FROM range(3)": 3,
    "SELECT explode(array(1, 2, 2)) AS e": 3,
    "SELECT 1 AS a UNION ALL SELECT * FROM (VALUES (2), (3)) v(a)": 3,
    "SELECT DISTINCT a FROM (VALUES (1), (1), (2)) v(a)": 2,
    "SELECT b, count(*) AS n FROM (VALUES (1, 'x'), (2, 'x')) v(a, b) GROUP BY b": 1,
    "SELECT a FROM (VALUES (3), (1), (2)) v(a) ORDER BY a LIMIT 2": 2,
    "SELECT v.a FROM (VALUES (1), (2)) v(a) LEFT JOIN (VALUES (2)) w(a) ON v.a = w.a": 2,
    "SELECT a, row_number() OVER (ORDER BY a) AS n FROM (VALUES (3), (1)) v(a)": 2,
    "SELECT a FROM (VALUES (1)) v(a) WHERE a IN (SELECT b FROM VALUES (2) w(b))": 0,
}

BESIDE = [
    "SELECT t.id, v.name FROM t JOIN (VALUES (1, 'one'), (2, 'two')) v(k, name) ON t.k = v.k",
    "SELECT t.id, v.name FROM t LEFT JOIN (VALUES (1, 'one')) v(k, name) ON t.k = v.k",
    "SELECT v.k, t.id FROM (VALUES (1), (9)) v(k) LEFT JOIN t ON t.k = v.k",
    "SELECT v.k FROM (VALUES (1), (9)) v(k) WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = v.k)",
    "SELECT id, k FROM t UNION ALL VALUES (0L, 0)",
    "SELECT k FROM t UNION SELECT * FROM (VALUES (1), (7)) v(k)",
    "SELECT k FROM t EXCEPT VALUES (1)",
    "SELECT id FROM t WHERE k IN (SELECT b FROM VALUES (1), (3) v(b))",
    "SELECT id FROM t WHERE k NOT IN (SELECT b FROM VALUES (1), (3) v(b))",
    "SELECT v.k, count(t.id) AS n FROM (VALUES (1), (9)) v(k) LEFT JOIN t ON t.k = v.k GROUP BY v.k",
    "SELECT r.id AS n, t.id FROM range(3) r JOIN t ON r.id = t.k",
]


def test_constant_rows_are_filled_once(ps: StreamTables) -> None:
    for number, (query, rows) in enumerate(ALONE.items()):
        made = ps.create_stream_table(f"st{number}", query, refresh_mode="INCREMENTAL")
        assert (made.effective_mode, made.reason) == ("INCREMENTAL", None), query
        assert ps.table(f"st{number}").count() == rows, query
        assert ps.refresh(f"st{number}").action.value == "NO_DATA", query
        assert_exact(ps, f"st{number}")
    ps.create_stream_table("auto", "SELECT 1 AS one")
    told = ps.explain("auto")
    assert told.statements == ()
    assert "  estimates  none, the query reads no table" in told.text()
    assert ps.status()[0].effective_mode == "INCREMENTAL"


def test_a_clock_without_a_table_goes_on(ps: StreamTables) -> None:
    ps.create_stream_table("st", "SELECT current_timestamp() AS now", refresh_mode="INCREMENTAL")
    before = ps.table("st").collect()
    assert ps.refresh("st").action.value == "INCREMENTAL"
    assert ps.table("st").collect() != before


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What went wrong with each query while one table changed under all of them."""
    from warehouses import warehouse

    wrong: dict[str, list[str]] = {query: [] for query in BESIDE}
    with warehouse(spark, tmp_path_factory.mktemp("beside")) as ps:
        ps.sql("CREATE TABLE t (id BIGINT, k INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, NULL), (4, 1)")
        for number, query in enumerate(BESIDE):
            ps.create_stream_table(f"st{number}", query, refresh_mode="INCREMENTAL")
        for change in (
            "INSERT INTO t VALUES (5, 9), (6, 3)",
            "DELETE FROM t WHERE k = 1",
            "UPDATE t SET k = 1 WHERE id = 2",
        ):
            ps.sql(change)
            for number, query in enumerate(BESIDE):
                wrong[query] += _refreshed(ps, f"st{number}", change)
    return wrong


def _refreshed(ps: StreamTables, name: str, change: str) -> list[str]:
    try:
        action = ps.refresh(name).action.value
        assert_exact(ps, name)
    except Exception as error:
        return [f"{change}: {error}"]
    return [] if action == "INCREMENTAL" else [f"{change}: {action}"]


@pytest.mark.parametrize("query", BESIDE)
def test_constant_rows_beside_a_table_stay_exact(found: dict[str, list[str]], query: str) -> None:
    assert found[query] == []
