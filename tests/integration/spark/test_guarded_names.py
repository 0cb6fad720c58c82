"""Statements for Spark that would take a stream table's name or storage away, or a source from its readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import HasReaders, IsStreamTable, PenstockError, SchemaHoldsStreamTables, StatementFailed
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


@pytest.fixture
def shop(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, v INT);
        INSERT INTO orders SELECT id, id % 3 FROM range(9);
        CREATE VIEW seen AS SELECT * FROM orders WHERE v > 0;
        CREATE STREAM TABLE agg AS SELECT v, count(*) AS n FROM orders GROUP BY v;
        CREATE STREAM TABLE later AS SELECT id FROM seen""")
    return ps


def storage(ps: StreamTables, name: str = "agg") -> Path:
    [found] = (ps.path / "stream_tables").glob(f"*/{name}-*")
    return found


def rows(ps: StreamTables, name: str = "agg") -> list[Any]:
    return sorted(map(tuple, ps.table(name).collect()))


CREATES = "CREATE OR REPLACE STREAM TABLE shop.agg AS"
BY_NAME = [
    ("DROP TABLE agg", "DROP STREAM TABLE shop.agg"),
    ("DROP TABLE IF EXISTS shop.agg", "DROP STREAM TABLE shop.agg"),
    ("DROP VIEW spark_catalog.shop.`agg`", "DROP STREAM TABLE shop.agg"),
    ("DROP VIEW IDENTIFIER('a' || 'gg')", "DROP STREAM TABLE shop.agg"),
    ("DROP VIEW IDENTIFIER(concat('a', lower('GG')))", "DROP STREAM TABLE shop.agg"),
    ("DECLARE OR REPLACE target STRING DEFAULT 'agg'; DROP VIEW IDENTIFIER(target)", "DROP STREAM TABLE shop.agg"),
    ("DECLARE OR REPLACE said STRING DEFAULT 'DROP VIEW agg'; EXECUTE IMMEDIATE said", "DROP STREAM TABLE shop.agg"),
    ("EXECUTE IMMEDIATE 'DROP VIEW agg'", "DROP STREAM TABLE shop.agg"),
    ("BEGIN IF 1 = 1 THEN DROP VIEW agg; END IF; END", "DROP STREAM TABLE shop.agg"),
    ("CREATE OR REPLACE VIEW AGG AS SELECT 1 AS v", CREATES),
    ("CREATE VIEW agg AS SELECT 1 AS v", CREATES),
    ("CREATE OR REPLACE TEMP VIEW agg AS SELECT 1 AS v", CREATES),
    ("CACHE TABLE agg AS SELECT 1 AS v", CREATES),
    ("CREATE TABLE agg (v INT)", CREATES),
    ("CREATE TABLE IF NOT EXISTS agg (v INT)", CREATES),
    ("CREATE OR REPLACE TABLE agg AS SELECT 1 AS v", CREATES),
    ("CREATE TABLE agg LIKE orders", CREATES),
    ("CREATE OR REPLACE TABLE agg SHALLOW CLONE orders", CREATES),
    ("ALTER TABLE orders RENAME TO agg", CREATES),
    ("ALTER VIEW agg RENAME TO other", "CREATE STREAM TABLE … AS …; DROP STREAM TABLE shop.agg"),
    ("ALTER VIEW agg AS SELECT 1 AS v", "ALTER STREAM TABLE shop.agg AS"),
    ("ALTER TABLE agg ADD COLUMNS (x INT)", "ALTER STREAM TABLE shop.agg AS"),
    ("INSERT INTO agg VALUES (1, 1)", "REFRESH STREAM TABLE shop.agg"),
    ("INSERT OVERWRITE agg SELECT 1, 1", "REFRESH STREAM TABLE shop.agg"),
    ("FROM orders INSERT INTO agg SELECT id, v INSERT INTO orders SELECT id, v", "REFRESH STREAM TABLE shop.agg"),
    ("UPDATE agg SET n = 0", "REFRESH STREAM TABLE shop.agg"),
    ("DELETE FROM agg AS a WHERE a.n = 0", "REFRESH STREAM TABLE shop.agg"),
    ("MERGE INTO agg USING orders ON agg.v = orders.v WHEN MATCHED THEN DELETE", "REFRESH STREAM TABLE shop.agg"),
    ("TRUNCATE TABLE agg", "REFRESH STREAM TABLE shop.agg"),
    ("RESTORE TABLE agg TO VERSION AS OF 0", "REFRESH STREAM TABLE shop.agg"),
    ("CACHE TABLE agg", "CACHE TABLE … AS SELECT * FROM shop.agg"),
    ("OPTIMIZE agg", "OPTIMIZE STREAM TABLE shop.agg"),
    ("VACUUM agg", "VACUUM delta.`"),
]
BY_STORAGE = [
    "INSERT INTO delta.`{at}` SELECT * FROM delta.`{at}`",
    "UPDATE delta.`{at}` SET n = 0",
    "RESTORE delta.`{at}` TO VERSION AS OF 0",
    "ALTER TABLE delta.`file:{at}` ADD COLUMNS (x INT)",
    "DROP TABLE delta.`{at}`",
    "CREATE OR REPLACE TABLE mine USING delta LOCATION '{at}' AS SELECT 1 AS v",
    "INSERT OVERWRITE DIRECTORY '{at}' USING parquet SELECT 1",
    "INSERT OVERWRITE DIRECTORY '{at}/..' USING parquet SELECT 1",
    "INSERT INTO peek SELECT * FROM peek",
    "INSERT INTO delta.`{link}` SELECT * FROM delta.`{link}`",
]


def test_a_statement_on_a_stream_tables_name_is_refused_with_the_right_one(shop: StreamTables) -> None:
    before = rows(shop)
    for statement, right in BY_NAME:
        with pytest.raises(IsStreamTable) as refused:
            shop.sql(statement, yes=True)
        assert str(refused.value.facts["name"]) == "shop.agg", statement
        assert right in refused.value.advice, statement
    assert rows(shop) == before
    assert_exact(shop, "agg")


def test_a_statement_on_a_stream_tables_storage_is_refused(shop: StreamTables) -> None:
    at, link = storage(shop), shop.path / "link"
    link.symlink_to(at)
    shop.sql(f"CREATE TABLE peek USING delta LOCATION '{at}'")
    before = rows(shop)
    for statement in BY_STORAGE:
        with pytest.raises(IsStreamTable, match=r"shop\.agg is the stream table whose storage that is"):
            shop.sql(statement.format(at=at, link=link), yes=True)
    # What moves no row is anybody's to do, and a second name is no more than that.
    shop.sql(f"OPTIMIZE delta.`{at}`; VACUUM delta.`{at}`; DESCRIBE HISTORY delta.`{at}`; DROP TABLE peek")
    shop.sql(f"ALTER TABLE delta.`{at}` SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 9 days')")
    assert rows(shop) == before
    assert shop.refresh("agg").action == "NO_DATA"


def test_a_schema_with_stream_tables_is_not_dropped(shop: StreamTables) -> None:
    shop.sql("CREATE STREAM TABLE least AS SELECT min(id) AS id FROM later")
    for statement in ("DROP SCHEMA shop CASCADE", "DROP DATABASE IF EXISTS spark_catalog.shop CASCADE"):
        with pytest.raises(
            SchemaHoldsStreamTables, match=r"names of shop\.agg, shop\.later, shop\.least, but"
        ) as refused:
            shop.sql(statement, yes=True)
        assert "DROP STREAM TABLE shop.least; DROP STREAM TABLE shop.later; DROP STREAM TABLE shop.agg" in (
            refused.value.advice
        )
    with pytest.raises(Exception, match="SCHEMA_NOT_EMPTY"):
        shop.sql("DROP SCHEMA shop")
    assert_exact(shop, "agg")


@pytest.mark.parametrize("name", ["own", "shop.own"])
def test_names_that_only_look_alike_are_left_alone(shop: StreamTables, name: str) -> None:
    shop.spark.sql("CREATE OR REPLACE TEMP VIEW agg AS SELECT 1 AS v")
    try:
        # Of the session, and gone with it: what stands before a name may be dropped again.
        shop.sql("DROP VIEW agg")
        shop.sql(f"CREATE SCHEMA aside; CREATE TABLE aside.agg (v INT); CREATE TABLE {name} (v INT)")
        shop.sql(f"INSERT INTO aside.agg VALUES (1); INSERT INTO {name} SELECT v FROM agg; DROP TABLE {name}")
        shop.sql("EXPLAIN DROP TABLE agg; DESCRIBE TABLE agg; REFRESH TABLE agg; SHOW CREATE TABLE agg")
    finally:
        shop.spark.sql("DROP SCHEMA aside CASCADE")
    assert_exact(shop, "agg")


TAKE_AWAY = [
    ("DROP TABLE orders", "shop.agg, shop.later"),
    ("DROP TABLE IF EXISTS SHOP.Orders", "shop.agg, shop.later"),
    ("CREATE OR REPLACE TABLE orders AS SELECT 1 AS id, 2 AS v", "shop.agg, shop.later"),
    ("REPLACE TABLE orders (id INT, v INT)", "shop.agg, shop.later"),
    ("ALTER TABLE orders RENAME TO previous", "shop.agg, shop.later"),
    ("ALTER TABLE orders SET LOCATION '{at}_elsewhere'", "shop.agg, shop.later"),
    ("DROP VIEW seen", "shop.later"),
    ("ALTER VIEW seen RENAME TO unseen", "shop.later"),
    ("DROP TABLE delta.`{at}`", "shop.agg, shop.later"),
    ("INSERT OVERWRITE DIRECTORY '{at}' USING parquet SELECT 1", "shop.agg, shop.later"),
]


def test_what_stream_tables_read_is_taken_away_only_if_that_is_said(shop: StreamTables) -> None:
    at = str(shop.path / "tables" / "shop.db" / "orders")
    before = rows(shop)
    for statement, readers in TAKE_AWAY:
        with pytest.raises(HasReaders) as refused:
            shop.sql(statement.format(at=at))
        assert refused.value.facts["readers"] == readers, statement
        assert "penstock sql --yes" in refused.value.advice
    assert rows(shop) == before
    # Rows, columns, files and redefined views are what refreshes follow.
    shop.sql(f"""
        OPTIMIZE '{at}'; VACUUM '{at}'; RESTORE delta.`{at}` TO VERSION AS OF 1;
        INSERT INTO orders VALUES (100, 1); OPTIMIZE orders; ALTER TABLE orders ADD COLUMNS (note STRING);
        CREATE OR REPLACE VIEW seen AS SELECT * FROM orders WHERE v > 1;
        DROP TABLE IF EXISTS nobody; CREATE OR REPLACE TABLE nobody (id INT); DROP TABLE nobody""")
    for name in ("agg", "later"):
        shop.refresh(name)
        assert_exact(shop, name)


def test_a_source_of_plain_files_is_taken_away_only_if_that_is_said(shop: StreamTables) -> None:
    shop.sql("CREATE TABLE files USING parquet AS SELECT 1 AS id; CREATE STREAM TABLE st AS SELECT id FROM files")
    for statement in ("DROP TABLE shop.FILES", "ALTER TABLE files RENAME TO others"):
        with pytest.raises(HasReaders, match=r"would take shop\.files from shop\.st"):
            shop.sql(statement)
    shop.sql("""
        CREATE SCHEMA inputs; CREATE VIEW inputs.below AS SELECT * FROM shop.files;
        USE inputs; CREATE VIEW above AS SELECT (SELECT max(id) FROM below) AS id; USE shop;
        CREATE OR REPLACE STREAM TABLE st AS SELECT id FROM inputs.above""")
    try:
        for statement, source in (("DROP TABLE files", "shop.files"), ("DROP VIEW inputs.below", "inputs.below")):
            with pytest.raises(HasReaders, match=rf"would take {source} from shop\.st"):
                shop.sql(statement)
    finally:
        shop.sql("DROP STREAM TABLE st; DROP TABLE files; DROP SCHEMA inputs CASCADE")


def test_a_source_that_is_named_by_its_folder_is_told_so(shop: StreamTables) -> None:
    at = shop.path / "v1.2" / "files"
    shop.sql(f"CREATE TABLE delta.`{at}` AS SELECT 1 AS id; CREATE STREAM TABLE st AS SELECT id FROM delta.`{at}`")
    with pytest.raises(HasReaders) as refused:
        shop.sql(f"DROP TABLE delta.`{at}`")
    assert refused.value.facts["sources"] == str(at)


def test_a_script_that_spark_cannot_read_is_one_error(shop: StreamTables) -> None:
    with pytest.raises(StatementFailed, match="CONTINUE exception handler is not supported"):
        shop.sql("BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN DROP VIEW agg; END; SELECT 1; END")


def test_a_schema_with_sources_of_others_is_dropped_only_if_that_is_said(shop: StreamTables) -> None:
    shop.sql("CREATE SCHEMA inputs; CREATE TABLE inputs.t (id INT); CREATE STREAM TABLE st AS SELECT id FROM inputs.t")
    with pytest.raises(HasReaders, match=r"would take inputs\.t from shop\.st"):
        shop.sql("DROP SCHEMA inputs CASCADE")
    shop.sql("DROP SCHEMA inputs CASCADE", yes=True)
    with pytest.raises(PenstockError):
        shop.refresh("st")


def test_a_source_that_was_replaced_all_the_same_is_followed(shop: StreamTables) -> None:
    shop.sql("CREATE OR REPLACE TABLE orders AS SELECT 1 AS id, 7 AS v", yes=True)
    assert shop.refresh("agg").reason_code == "SOURCE_CHANGED"
    assert rows(shop) == [(7, 1)]
    assert_exact(shop, "agg")


def test_a_clean_up_is_done_all_the_same_if_that_is_said(shop: StreamTables) -> None:
    shop.sql("DELETE FROM orders WHERE id = 1")
    shop.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    with pytest.raises(PenstockError, match="RETENTION_CUT"):
        shop.sql("VACUUM orders RETAIN 0 HOURS")
    shop.sql("VACUUM orders RETAIN 0 HOURS", yes=True)
    assert shop.refresh("agg").reason_code == "FRONTIER_LOST"
