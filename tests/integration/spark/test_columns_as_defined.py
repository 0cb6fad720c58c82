"""What a star, a USING or a bare name meant when a stream table was created, it means for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from warehouses import warehouse

from penstock.engine.spark.columns_as_defined import columns_read_by_name, frame_as_defined
from penstock.errors import QueryInvalid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
SEED = "INSERT INTO src (id, v, extra) VALUES (1, 10, 'a'), (2, 20, 'b')"
PLAIN = "CREATE TABLE src (id INT, v INT, extra STRING) USING parquet"
ANEW = "CREATE TABLE src (first STRING, V INT, more INT, name STRING, Id INT, extra STRING, wid INT) USING parquet"

QUERIES = {
    "a star": "SELECT * FROM src",
    "a qualified star": "SELECT s.* FROM src s WHERE s.id > 0",
    "a star qualified in full": "SELECT kept.src.* FROM kept.src",
    "a star with EXCEPT": "SELECT * EXCEPT (extra), 1 AS more FROM src",
    "rows told apart by a star": "SELECT DISTINCT * FROM (SELECT * FROM src)",
    "a star in WITH": "WITH a AS (SELECT * FROM src), b AS (SELECT * FROM a) SELECT * FROM b JOIN a USING (id)",
    "stars side by side": "SELECT * FROM src UNION ALL SELECT * FROM other",
    "USING": "SELECT * FROM src JOIN keys USING (id)",
    "NATURAL JOIN": "SELECT * FROM src NATURAL JOIN keys",
    "a bare name": "SELECT v, more FROM src JOIN wide ON src.id = wide.wid",
    "an outer name": "SELECT * FROM wide WHERE EXISTS (SELECT 1 FROM src WHERE src.id = wid AND more > 0)",
    "a star in a scalar subquery": "SELECT wid, (SELECT count(*) FROM (SELECT DISTINCT * FROM src)) AS n FROM wide",
    "columns by place": "SELECT a, c FROM src AS t(a, b, c)",
    "a computed name": "SELECT * FROM (SELECT DISTINCT * FROM IDENTIFIER('s' || 'rc')) NATURAL JOIN keys",
    "a name by a function": "SELECT DISTINCT * FROM (SELECT * FROM IDENTIFIER(concat('s', lower('RC'))))",
    "a sample and a hint": "SELECT /*+ BROADCAST(src) */ * FROM src TABLESAMPLE (100 PERCENT)",
    "a view": "SELECT * FROM seen",
    "a lateral subquery": "SELECT * FROM wide, LATERAL (SELECT * FROM src WHERE id = wid)",
    "a pipe": "FROM src |> WHERE id > 0",
    "the table statement": "TABLE src",
    "a WITH of the table's name": "WITH src AS (SELECT * FROM src) SELECT * FROM src",
    "a recursive WITH": "WITH RECURSIVE r AS (SELECT * FROM src UNION ALL SELECT id + 9, v, extra FROM r WHERE id < 9)"
    " SELECT * FROM r",
    "a struct of all columns": "SELECT id, struct(*) AS s FROM src GROUP BY ALL",
    "a self-join": "SELECT * FROM src a LEFT JOIN src b ON a.id = b.v",
}


def make(ps: StreamTables, table: str) -> None:
    for statement in (
        table,
        SEED,
        "CREATE VIEW seen AS SELECT * FROM src",
        "CREATE TABLE other USING delta AS SELECT 1 AS id, 10 AS v, 'a' AS extra",
        "CREATE TABLE keys USING delta AS SELECT * FROM VALUES (1, 'one'), (2, 'two') AS t(id, name)",
        "CREATE TABLE wide USING delta AS SELECT * FROM VALUES (1, 7), (2, 8) AS t(wid, more)",
    ):
        ps.spark.sql(statement)


@pytest.fixture(scope="module")
def sources(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamTables]:
    with warehouse(spark, tmp_path_factory.mktemp("sources"), "kept") as opened:
        make(opened, PLAIN)
        yield opened


def test_a_query_means_what_it_meant(sources: StreamTables) -> None:
    spark = sources.spark
    held = {name: columns_read_by_name(spark, query) for name, query in QUERIES.items()}
    meant = {name: spark.sql(query) for name, query in QUERIES.items()}
    expected = {name: (frame.columns, sorted(frame.collect(), key=repr)) for name, frame in meant.items()}
    # Columns are added first, last and in between, others change their place or the case of their letters.
    for statement in ("DROP TABLE src", ANEW, SEED):
        spark.sql(statement)
    for name, query in QUERIES.items():
        found = frame_as_defined(spark, query, held[name])
        assert (found.columns, sorted(found.collect(), key=repr)) == expected[name], name


def test_a_column_that_is_gone_is_an_error_where_it_is_used(sources: StreamTables) -> None:
    spark = sources.spark
    uses = {
        "SELECT * FROM src": True,
        "SELECT id, v FROM (SELECT * FROM src)": False,
        "SELECT id, v FROM src WHERE extra = 'a'": True,
        "SELECT count(*) AS n FROM (SELECT DISTINCT * FROM src)": True,
        "SELECT id FROM (SELECT * FROM src UNION ALL SELECT * FROM other)": False,
        "SELECT * FROM src UNION ALL SELECT * FROM other": True,
        "SELECT id, (SELECT max(extra) FROM src) AS m FROM other": True,
        "SELECT count(*) AS n FROM src": False,
    }
    for statement in ("DROP TABLE src", PLAIN.replace("parquet", "delta"), SEED):
        spark.sql(statement)
    held = {query: columns_read_by_name(spark, query) for query in uses}
    spark.sql("CREATE OR REPLACE TABLE src USING delta AS SELECT 1 AS id, 2 AS v")
    for query, used in uses.items():
        if used:
            with pytest.raises(QueryInvalid, match="column extra of `src`, which is not there any more"):
                frame_as_defined(spark, query, held[query])
        else:
            assert frame_as_defined(spark, query, held[query]).count() > 0, query


def test_a_stream_table_keeps_its_columns_through_change_and_rebuild(ps: StreamTables) -> None:
    ps.sql(f"CREATE TABLE src (id INT, v INT, extra STRING) {MAPPED}; {SEED}; CREATE TABLE keys (id INT, name STRING)")
    ps.sql("INSERT INTO keys VALUES (1, 'one'), (2, 'two')")
    ps.create_stream_table("star", "SELECT * FROM src")
    ps.create_stream_table("apart", "SELECT count(*) AS n FROM (SELECT DISTINCT * FROM src)")
    ps.create_stream_table("full", "SELECT *, rand() < 2 AS low FROM src", initialize=False)
    ps.create_stream_table("reader", "SELECT * FROM star JOIN keys USING (id)")
    columns = {name: ps.table(name).columns for name in ("star", "apart", "full", "reader")}
    ps.sql("ALTER TABLE src ADD COLUMNS (name STRING FIRST, more INT AFTER id)")
    ps.sql("INSERT INTO src (id, v, extra, name, more) VALUES (2, 20, 'b', 'x', 1), (4, 40, 'd', 'y', 2)")
    for name, action in [("apart", "INCREMENTAL"), ("full", "FULL"), ("reader", "INCREMENTAL")]:
        assert ps.refresh(name).action == action
        assert ps.audit(name).exact, name
    assert ps.table("apart").collect()[0].n == 3
    ps.sql("CREATE OR REPLACE TABLE src AS SELECT 1 AS more, 2L AS v, 'n' AS name, 'e' AS extra, 1 AS id", yes=True)
    for name, held in columns.items():
        ps.refresh(name)
        assert ps.audit(name).exact, name
        assert ps.table(name).columns == held
    assert [tuple(row) for row in ps.table("star").collect()] == [(1, 2, "e")]
    assert dict(ps.table("star").dtypes)["v"] == "bigint"
    # A new CREATE is a new question.
    ps.sql("CREATE OR REPLACE STREAM TABLE star AS SELECT * FROM src")
    assert ps.table("star").columns == ["more", "v", "name", "extra", "id"]
    ps.sql("INSERT INTO src VALUES (9, 2, 'n', 'e', 1)")
    assert [str(ps.refresh("apart").action), ps.table("apart").collect()[0].n] == ["INCREMENTAL", 1]
    ps.sql("CREATE OR REPLACE STREAM TABLE apart AS SELECT count(*) AS n FROM (SELECT DISTINCT * FROM src)")
    assert ps.table("apart").collect()[0].n == 2
