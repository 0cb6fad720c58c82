"""Stream tables' names that are taken past Penstock: by plain Spark SQL, by DataFrames, by another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engine.spark.held_names import marked
from penstock.engine.spark.registry import view_text
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

ROWS = [(0, 3), (1, 3), (2, 3)]


@pytest.fixture
def shop(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, v INT);
        INSERT INTO orders SELECT id, id % 3 FROM range(9);
        CREATE STREAM TABLE agg AS SELECT v, count(*) AS n FROM orders GROUP BY v""")
    return ps


def rows(ps: StreamTables, name: str) -> list[Any]:
    return sorted(map(tuple, ps.spark.table(name).collect()))


def told(ps: StreamTables) -> list[dict[str, object]]:
    """What the alerts say of taken names, the oldest first."""
    alerts = [each for each in ps.alerts() if each.event.value == "name_taken"]
    return [{"st": each.stream_table, **each.facts} for each in reversed(alerts)]


def overwrite(ps: StreamTables, kind: str) -> None:
    ps.spark.range(2).write.format(kind).mode("overwrite").saveAsTable("agg")


TAKEN: dict[str, tuple[Callable[[StreamTables], Any], dict[str, object]]] = {
    "dropped": (lambda ps: ps.spark.sql("DROP VIEW agg"), {"found": "nothing"}),
    "renamed": (lambda ps: ps.spark.sql("ALTER VIEW agg RENAME TO moved"), {"found": "nothing"}),
    "replaced": (
        lambda ps: ps.spark.sql("CREATE OR REPLACE VIEW agg AS SELECT 1 AS x"),
        {"found": "a view", "text": "SELECT 1 AS x"},
    ),
    "given another text": (
        lambda ps: ps.spark.sql("ALTER VIEW agg AS SELECT 2 AS y"),
        {"found": "a view", "text": "SELECT 2 AS y"},
    ),
    "overwritten": (lambda ps: overwrite(ps, "delta"), {"found": "a table", "now_called": "shop.agg_found_1"}),
    "overwritten in another format": (
        lambda ps: overwrite(ps, "parquet"),
        {"found": "a table", "now_called": "shop.agg_found_2"},
    ),
    "given other rows": (
        lambda ps: ps.spark.sql("CREATE OR REPLACE VIEW agg AS SELECT 1 AS v, 2L AS n"),
        {"found": "a view", "text": "SELECT 1 AS v, 2L AS n"},
    ),
    "dropped once more": (lambda ps: ps.spark.sql("DROP VIEW agg"), {"found": "nothing"}),
}
LOOKS: list[Callable[[StreamTables], Any]] = [
    lambda ps: ps.refresh("agg"),
    lambda ps: ps.sql("SELECT * FROM agg").collect(),
    lambda ps: ps.table("agg"),
    lambda ps: ps.status(),
    lambda ps: ps.diagnose("agg"),
    lambda ps: ps.explain("SELECT n FROM agg"),
    lambda ps: ps.audit("agg"),
    lambda ps: ps.repair(),
]


def test_a_name_that_was_taken_is_restored_by_the_next_look_and_told_once(shop: StreamTables) -> None:
    expected = []
    for (take, facts), look in zip(TAKEN.values(), LOOKS, strict=True):
        take(shop)
        look(shop)
        assert rows(shop, "agg") == ROWS
        expected.append({"st": "shop.agg", "restored": True, **facts})
        assert told(shop) == expected
        # And nothing more.
        look(shop)
        shop.sql("INSERT INTO orders VALUES (9, 9); DELETE FROM orders WHERE id = 9")
        assert shop.refresh("agg").error is None
        assert told(shop) == expected
    # What others put there is theirs.
    assert [rows(shop, f"agg_found_{number}") for number in (1, 2)] == [[(0,), (1,)]] * 2
    assert {"shop.agg_found_1", "shop.agg_found_2"} < {each.name for each in shop._warehouse.catalog.known_tables()}
    assert_exact(shop, "agg")


def test_a_stream_table_over_a_name_that_was_taken_reads_the_stream_table(shop: StreamTables) -> None:
    shop.spark.sql("CREATE OR REPLACE VIEW agg AS SELECT 1 AS x")
    # Whatever a view is called, it is one of ours only if it shows our rows.
    bound = shop._warehouse.fresh_workspace({}, "shop").bind("SELECT * FROM agg")
    assert ([each.name for each in bound.columns], bound.sources) == (["x"], ())
    shop.sql("CREATE STREAM TABLE over AS SELECT * FROM agg WHERE v > 0")
    assert rows(shop, "over") == ROWS[1:]
    assert [each["found"] for each in told(shop)] == ["a view"]
    assert_exact(shop, "over")


def test_what_reads_a_name_that_was_taken_reads_the_stream_table(shop: StreamTables) -> None:
    shop.sql("CREATE STREAM TABLE over AS SELECT * FROM agg")
    shop.spark.sql("CREATE OR REPLACE VIEW agg AS SELECT 1 AS v, 2L AS n")
    assert shop.audit("over").exact
    shop.spark.sql("CREATE OR REPLACE VIEW agg AS SELECT 1 AS v, 2L AS n")
    shop.create_stream_table("made", lambda spark: spark.table("agg"))
    assert rows(shop, "made") == ROWS


def test_a_table_of_others_outlives_the_stream_table_whose_name_it_took(shop: StreamTables) -> None:
    overwrite(shop, "delta")
    shop.sql("DROP STREAM TABLE agg")
    assert rows(shop, "agg_found_1") == [(0,), (1,)]
    assert not shop.spark.catalog.tableExists("agg")


def test_a_name_is_restored_by_a_repair_as_well(shop: StreamTables) -> None:
    overwrite(shop, "delta")
    [meta] = shop._warehouse.catalog.get_all()
    # As if the catalog were lost.
    shop._warehouse.catalog.delete(meta.id)
    report = shop.repair()
    assert "the name shop.agg was taken by others: restored" in report.lines
    assert (rows(shop, "agg"), rows(shop, "agg_found_1")) == (ROWS, [(0,), (1,)])


def test_a_schema_that_was_dropped_with_a_stream_table_comes_back_with_it(shop: StreamTables) -> None:
    shop.sql("CREATE SCHEMA mart; CREATE STREAM TABLE mart.top AS SELECT max(n) AS n FROM agg")
    try:
        shop.spark.sql("DROP SCHEMA mart CASCADE")
        shop.sql("INSERT INTO orders VALUES (10, 1)")
        assert shop.refresh("mart.top").rows_inserted == 1
        assert rows(shop, "mart.top") == [(4,)]
        assert told(shop) == [{"st": "mart.top", "found": "nothing", "restored": True}]
    finally:
        shop.spark.sql("DROP SCHEMA IF EXISTS mart CASCADE")


def test_what_penstock_does_to_its_views_itself_is_nothing_to_tell(shop: StreamTables) -> None:
    before = str(view_text(shop.spark, "spark_catalog.shop.agg")).partition(" AS ")[2]
    shop.sql("ALTER STREAM TABLE agg AS SELECT v, count(*) AS n, max(id) AS last FROM orders GROUP BY v")
    # As it is in a process that does not know yet what another one has made of it.
    shop.spark.sql(f"CREATE OR REPLACE VIEW agg {marked(before)} AS {before}")
    shop.sql("CREATE STREAM TABLE later AS SELECT last FROM agg")
    assert rows(shop, "agg")[0] == (0, 3, 6)
    shop.sql("CREATE OR REPLACE STREAM TABLE later AS SELECT last + 1 AS last FROM agg; DROP STREAM TABLE later")
    shop.status()
    assert told(shop) == []


def test_rows_that_spark_was_asked_to_keep_in_memory_follow_a_refresh(shop: StreamTables) -> None:
    shop.spark.catalog.cacheTable("agg")
    shop.table("agg").groupBy().sum("n").cache().collect()
    assert rows(shop, "agg") == ROWS
    shop.sql("INSERT INTO orders VALUES (9, 0)")
    shop.refresh("agg")
    assert rows(shop, "agg") == [(0, 4), *ROWS[1:]]
    assert shop.table("agg").groupBy().sum("n").collect()[0][0] == 10
    assert shop.spark.catalog.isCached("agg")
    shop.spark.catalog.uncacheTable("agg")
