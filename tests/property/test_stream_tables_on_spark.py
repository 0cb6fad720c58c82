"""Random queries over every type through the real thing: Spark, Delta, refresh, and the oracle after every round.

Several stream tables follow one history, because a round costs most in Spark's own DML. `PENSTOCK_SEEDS=10:12` runs
other histories.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from penstock.testing.oracle import assert_exact, bag_difference
from penstock.testing.strategies import History, Schema, insert_sql, random_history, random_query, schema_of_every_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

ROUNDS = 20
FEW_ROUNDS = 5
"""Where every statement is a Spark job; the slow test runs all."""
GOOD = {"INCREMENTAL", "NO_DATA"}


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamTables]:
    import penstock

    spark.sql("CREATE DATABASE IF NOT EXISTS properties")
    spark.sql("USE properties")
    # Some changes are merged, others marked in deletion vectors, as the files come.
    settings = {"deletion_vector_bytes": 4000}
    opened = penstock.open(tmp_path_factory.mktemp("properties"), spark=spark, settings=settings)
    yield opened
    opened.close()
    spark.sql("USE default")


@pytest.fixture
def schema(ps: StreamTables, request: pytest.FixtureRequest) -> Schema:
    made = schema_of_every_type(f"e{crc32(request.node.name.encode()) % 10_000}_")
    for table in made.tables:
        ps.sql(table.ddl)
    return made


def fill(ps: StreamTables, history: History) -> None:
    for name, rows in history.first.items():
        if rows:
            ps.sql(insert_sql(history.schema.table(name), rows))


def follow(ps: StreamTables, history: History, tables: dict[str, str], every: int = 1) -> None:
    """Run a history; after every round each table is refreshed and must be exact."""
    for number, (mutations, _) in enumerate(history.states(), 1):
        for each in mutations:
            for statement in each.sql(history.schema.table(each.table)):
                ps.sql(statement)
        if number % every and number < len(history.rounds):
            continue
        for name, query in tables.items():
            result = ps.refresh(name)
            so_far = History(history.schema, history.first, history.rounds[:number])
            context = f"round {number}, {result.action}\n{so_far.script(query)}"
            assert result.action in GOOD, f"{name} was refreshed {result.action}: {result.reason}\n{context}"
            assert_exact(ps, name, context=context)


def _random_tables(ps: StreamTables, schema: Schema, seed: int, count: int) -> dict[str, str]:
    tables = {}
    for number in range(count):
        query = random_query(Random(seed * 100 + number), schema)
        name = f"st_{seed}_{number}"
        ps.create_stream_table(name, query.text, refresh_mode="INCREMENTAL", key=query.key or None)
        assert_exact(ps, name, context=query.text)
        tables[name] = query.text
    return tables


def test_random_queries_stay_exact(ps: StreamTables, schema: Schema) -> None:
    low, _, high = os.environ.get("PENSTOCK_SEEDS", "0:1").partition(":")
    for seed in range(int(low), int(high)):
        history = random_history(Random(seed), schema, rounds=FEW_ROUNDS, size=8)
        fill(ps, history)
        follow(ps, history, _random_tables(ps, schema, seed, count=2))


@pytest.mark.slow
def test_many_random_queries_stay_exact(ps: StreamTables, schema: Schema) -> None:
    for seed in range(100, 108):
        history = random_history(Random(seed), schema, rounds=ROUNDS, size=8)
        for table in schema.tables:
            ps.sql(f"DELETE FROM {table.name}")
        fill(ps, history)
        tables = _random_tables(ps, schema, seed, count=6)
        follow(ps, history, tables)
        for name in tables:
            ps.drop_stream_table(name)


@pytest.mark.slow
def test_update_or_delete_and_insert(ps: StreamTables) -> None:
    """One history told in two ways to two copies of the sources; the results must be the same rows."""
    copies = [schema_of_every_type(prefix) for prefix in ("upd", "del")]
    history = random_history(Random("twins"), copies[0], rounds=2, size=8)
    queries = {
        "sums": "SELECT g, count(*) AS n, sum(v) AS s, min(day) AS d FROM {}0 GROUP BY g",
        "joined": "SELECT a.k, a.d, b.x FROM {0}0 AS a JOIN {0}2 AS b ON a.k = b.k",
    }
    for copy, prefix in zip(copies, ("upd", "del"), strict=True):
        for mine, first in zip(copy.tables, copies[0].tables, strict=True):
            ps.sql(mine.ddl)
            if history.first[first.name]:
                ps.sql(insert_sql(mine, history.first[first.name]))
        for name, query in queries.items():
            ps.create_stream_table(f"{prefix}_{name}", query.format(prefix), refresh_mode="INCREMENTAL")
    data = dict(history.first)
    for mutations, _ in history.states():
        for each in mutations:
            place = [table.name for table in copies[0].tables].index(each.table)
            ours, theirs = copies[0].tables[place], copies[1].tables[place]
            for statement in (*each.sql(ours), *each.sql_without_update(theirs, data[each.table])):
                ps.sql(statement)
            data[each.table] = each.apply(ours, data[each.table])
        for name in queries:
            for prefix in ("upd", "del"):
                assert ps.refresh(f"{prefix}_{name}").action in GOOD
                assert_exact(ps, f"{prefix}_{name}")
            assert bag_difference(ps.table(f"upd_{name}"), ps.table(f"del_{name}")).empty


def test_the_sign_of_zero_is_kept(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE zeros (k INT, x DOUBLE, l ARRAY<DOUBLE>) USING delta")
    ps.sql("INSERT INTO zeros VALUES (1, -0.0D, array(-0.0D)), (1, 0.0D, array(0.0D)), (1, 0.0D, array(-0.0D))")
    query = "SELECT k, x, l FROM zeros"
    ps.create_stream_table("signed", query, refresh_mode="INCREMENTAL")
    ps.create_stream_table("scalars", "SELECT k, x FROM zeros", refresh_mode="INCREMENTAL")
    for statement in (
        "DELETE FROM zeros WHERE CAST(x AS STRING) = '-0.0'",
        "INSERT INTO zeros VALUES (1, -0.0D, array(-0.0D)), (1, -0.0D, array(-0.0D)), (1, 0.0D, NULL)",
        "UPDATE zeros SET k = 2 WHERE CAST(x AS STRING) = '-0.0'",
        "UPDATE zeros SET x = -x",
    ):
        ps.sql(statement)
        for name in ("signed", "scalars"):
            assert_exact(ps, name, "INCREMENTAL", ps.refresh(name), to_the_bit=True, context=statement)


def test_a_second_refresh_and_an_update_that_changes_nothing(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE still (k INT, v INT, unused STRING) USING delta")
    ps.sql("INSERT INTO still VALUES (1, 10, 'a'), (2, 20, 'b')")
    ps.create_stream_table("stillness", "SELECT k, sum(v) AS s FROM still GROUP BY k", refresh_mode="INCREMENTAL")
    version = ps.refresh("stillness").version
    assert ps.refresh("stillness").action == "NO_DATA"
    for statement in ("UPDATE still SET v = v", "UPDATE still SET unused = 'c'"):
        ps.sql(statement)
        result = ps.refresh("stillness")
        assert (result.action in GOOD, result.rows_inserted, result.rows_deleted) == (True, 0, 0)
        assert result.version == version
        assert_exact(ps, "stillness")


def test_a_widened_source_changes_nothing(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE narrow (k INT, v INT) USING delta")
    ps.sql("INSERT INTO narrow VALUES (1, 10)")
    ps.create_stream_table("sum_of_narrow", "SELECT k, sum(v) AS s FROM narrow GROUP BY k", refresh_mode="INCREMENTAL")
    ps.sql("ALTER TABLE narrow ADD COLUMNS (more STRING)")
    ps.sql("INSERT INTO narrow VALUES (1, 5, 'x'), (2, 7, NULL)")
    ps.refresh("sum_of_narrow")
    assert_exact(ps, "sum_of_narrow")


def test_a_row_that_divides_by_zero_only_in_between(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE top (k INT, v INT) USING delta")
    ps.sql("CREATE TABLE bottom (k INT, w INT) USING delta")
    ps.sql("INSERT INTO top VALUES (1, 5), (1, 6)")
    ps.sql("INSERT INTO bottom VALUES (1, 7)")
    query = "SELECT t.k, 10 / (t.v - b.w) AS q FROM top AS t JOIN bottom AS b ON t.k = b.k"
    ps.create_stream_table("quotients", query, refresh_mode="INCREMENTAL")
    ps.sql("DELETE FROM top WHERE v = 5")
    ps.sql("INSERT INTO bottom VALUES (1, 5)")
    assert_exact(ps, "quotients", "INCREMENTAL", ps.refresh("quotients"))


def test_another_session_time_zone(ps: StreamTables, restored: Callable[[str, str], None]) -> None:
    """The table stays what it was defined as, whatever the zone of the session that refreshes it."""
    restored("spark.sql.session.timeZone", "UTC")
    ps.sql("CREATE TABLE moments (at TIMESTAMP, v INT) USING delta")
    ps.sql("INSERT INTO moments VALUES (TIMESTAMP '2024-03-31 23:30:00Z', 1)")
    query = "SELECT to_date(at) AS day, sum(v) AS s FROM moments GROUP BY to_date(at)"
    ps.create_stream_table("days", query, refresh_mode="INCREMENTAL")
    restored("spark.sql.session.timeZone", "Asia/Tokyo")
    ps.sql("INSERT INTO moments VALUES (TIMESTAMP '2024-03-31 23:40:00Z', 2)")
    assert ps.refresh("days").action == "INCREMENTAL"
    restored("spark.sql.session.timeZone", "UTC")
    assert_exact(ps, "days")
    assert [row.s for row in ps.table("days").collect()] == [3]


@pytest.fixture
def restored(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Sets session settings, and puts them back."""
    before: dict[str, str | None] = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def test_the_oracle_sees_a_missing_copy(ps: StreamTables, tmp_path: Path) -> None:
    """Equal as sets, different as bags: the oracle must tell."""
    one = ps.spark.sql("SELECT * FROM VALUES (1, 'a'), (1, 'a'), (2, NULL) AS t(k, s)")
    two = ps.spark.sql("SELECT * FROM VALUES (1, 'a'), (2, NULL), (2, NULL) AS t(k, s)")
    found = bag_difference(one, two)
    assert (found.only_left, found.only_right) == (1, 1)
    assert bag_difference(one, one).empty
