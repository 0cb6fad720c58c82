"""Plain tables and views that another process makes, moves and drops while this one has the warehouse open.

Each has a Spark catalog in memory of its own, as two processes have.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warehouses import with_names_of_its_own

import penstock
from penstock.errors import CatalogError
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

Two = tuple["StreamTables", "StreamTables"]


@pytest.fixture
def two(spark: SparkSession, tmp_path: Path) -> Iterator[Two]:
    root = tmp_path / "shared"
    sessions = [with_names_of_its_own(spark, root) for _ in range(2)]
    with (
        penstock.open(root, spark=sessions[0]) as here,
        penstock.open(root, spark=sessions[1]) as there,
    ):
        yield here, there
    shutil.rmtree(root)


def rows(ps: StreamTables, query: str) -> list[Any]:
    return sorted(map(tuple, ps.sql(query).collect()))


def names(ps: StreamTables) -> set[str]:
    return {each.name for each in ps._warehouse.catalog.known_tables()}


def test_a_statement_here_forgets_nothing_that_was_made_there(two: Two, tmp_path: Path) -> None:
    here, there = two
    here.sql("CREATE TABLE t (id INT); CREATE VIEW v AS SELECT 1 AS old")
    there.sql(f"""
        CREATE SCHEMA mart; CREATE TABLE mart.far (id INT) USING delta LOCATION '{tmp_path / "far"}';
        CREATE TABLE t2 (id INT); CREATE OR REPLACE VIEW v AS SELECT 2 AS new; INSERT INTO mart.far VALUES (7)""")
    # Whatever it is that Spark is asked, it is no reason to forget what this process has not seen.
    here._warehouse.spark.sql("SHOW TABLES")
    here.sql("SHOW TABLES")
    assert names(here) == {"default.t", "default.t2", "default.v", "mart", "mart.far"}
    assert rows(here, "SELECT new FROM v") == [(2,)]
    assert rows(here, "SELECT * FROM mart.far") == [(7,)]
    assert rows(there, "SELECT new FROM v") == [(2,)]


def test_a_stream_table_made_there_over_a_table_made_there_is_refreshed_here(two: Two) -> None:
    here, there = two
    there.sql("""
        CREATE SCHEMA mart; CREATE TABLE mart.t (id INT); INSERT INTO mart.t VALUES (1);
        CREATE VIEW mart.v AS SELECT id + 1 AS id FROM mart.t;
        CREATE STREAM TABLE mart.st AS SELECT count(*) AS n, max(id) AS top FROM mart.v;
        INSERT INTO mart.t VALUES (2)""")
    assert here.refresh("mart.st").action.value == "INCREMENTAL"
    assert rows(here, "SELECT * FROM mart.st") == [(2, 3)]
    assert_exact(here, "mart.st")


@pytest.mark.parametrize("making", ["CREATE OR REPLACE", "ALTER"])
def test_a_view_redefined_there_is_read_as_it_is_now_here(two: Two, making: str) -> None:
    here, there = two
    here.sql("""
        CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2), (3); CREATE VIEW v AS SELECT id FROM t;
        CREATE STREAM TABLE st AS SELECT sum(id) AS total FROM v""")
    there.sql(f"{making} VIEW v AS SELECT id * 10 AS id FROM t")
    assert here.refresh("st").action.value == "REINITIALIZE"
    assert rows(here, "SELECT * FROM st") == [(60,)]
    assert_exact(here, "st")


def test_a_table_that_lies_elsewhere_since_is_read_there(two: Two, tmp_path: Path) -> None:
    here, there = two
    here.sql(f"CREATE TABLE moving (id INT) USING delta LOCATION '{tmp_path / 'one'}'; INSERT INTO moving VALUES (1)")
    here.sql("CREATE STREAM TABLE st AS SELECT id FROM moving")
    there.sql(f"""
        CREATE TABLE other (id INT) USING delta LOCATION '{tmp_path / "two"}'; INSERT INTO other VALUES (2)""")
    there.sql(f"DROP TABLE moving; CREATE TABLE moving USING delta LOCATION '{tmp_path / 'two'}'", yes=True)
    assert here.refresh("st").action.value == "REINITIALIZE"
    assert rows(here, "SELECT * FROM st") == rows(here, "SELECT * FROM moving") == [(2,)]
    assert_exact(here, "st")
    # Only the name went away; what it stood for stays, and another name finds it.
    here.sql(f"CREATE TABLE found (id INT) USING delta LOCATION '{tmp_path / 'one'}'")
    assert rows(here, "SELECT * FROM found") == [(1,)]


def test_what_was_dropped_there_is_gone_here_and_its_name_is_free(two: Two) -> None:
    here, there = two
    here.sql("""
        CREATE SCHEMA mart; CREATE TABLE mart.t (id INT); CREATE TABLE kept (id INT); CREATE VIEW v AS SELECT 1 AS x;
        CREATE STREAM TABLE st AS SELECT count(*) AS n FROM kept""")
    there.sql("DROP SCHEMA mart CASCADE; DROP VIEW v; DROP STREAM TABLE st; CREATE TABLE st (other INT)")
    there.sql("INSERT INTO st VALUES (5)")
    here.sql("SHOW TABLES")
    assert names(here) == {"default.kept", "default.st"}
    assert rows(here, "SELECT other FROM st") == [(5,)]
    here.sql("CREATE SCHEMA mart; CREATE TABLE mart.t (other INT); CREATE VIEW v AS SELECT 2 AS y")
    assert rows(there, "SELECT y FROM v") == [(2,)]
    assert rows(there, "SELECT other FROM mart.t") == []


def test_the_view_of_a_stream_table_that_was_dropped_there_goes_here(two: Two) -> None:
    here, there = two
    here.sql("CREATE TABLE t (id INT); CREATE STREAM TABLE st AS SELECT count(*) AS n FROM t; SELECT * FROM st")
    there.sql("DROP STREAM TABLE st")
    here.sql("SHOW TABLES")
    assert not here.spark.catalog.tableExists("st")
    assert not here.alerts()


def test_a_managed_table_whose_name_goes_elsewhere_keeps_its_files_for_whoever_has_it_then(two: Two) -> None:
    here, there = two
    here.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1); CREATE SCHEMA mart")
    there.sql("ALTER TABLE t RENAME TO renamed")
    here.sql("SHOW TABLES")
    assert rows(here, "SELECT * FROM renamed") == rows(there, "SELECT * FROM renamed") == [(1,)]
    assert names(here) == {"default.renamed", "mart"}


def test_a_name_that_was_made_here_past_penstock_is_not_taken_away(two: Two, tmp_path: Path) -> None:
    here, there = two
    here.spark.sql(f"CREATE TABLE both (mine INT) USING delta LOCATION '{tmp_path / 'mine'}'")
    there.sql(f"CREATE TABLE both (theirs INT) USING delta LOCATION '{tmp_path / 'theirs'}'")
    here.sql("SHOW TABLES")
    assert rows(here, "SELECT mine FROM both") == []
    assert rows(there, "SELECT mine FROM both") == []


def test_a_mark_that_the_catalog_would_not_take_is_made_at_the_next_statement(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any) -> None:
        raise CatalogError(path="catalog.sqlite", why="it is busy", fix="Try again.")

    here, _ = two
    for place, value in (("one", 1), ("two", 2)):
        here.sql(f"CREATE TABLE {place} (id INT) USING delta LOCATION '{tmp_path / place}'")
        here.sql(f"INSERT INTO {place} VALUES ({value})")
    here.sql(f"CREATE TABLE moving USING delta LOCATION '{tmp_path / 'one'}'")
    here.sql("CREATE STREAM TABLE st AS SELECT id FROM moving; DROP TABLE moving", yes=True)
    with monkeypatch.context() as away:
        away.setattr("penstock.refresh.share_names.mark_moved", busy)
        with pytest.raises(CatalogError):
            here.sql(f"CREATE TABLE moving USING delta LOCATION '{tmp_path / 'two'}'")
    here.sql("SHOW TABLES")
    assert here.refresh("st").action.value == "REINITIALIZE"
    assert rows(here, "SELECT * FROM st") == [(2,)]
    assert_exact(here, "st")
    here.sql("SHOW TABLES")
    assert here.refresh("st").action.value == "NO_DATA"


def test_a_source_that_is_named_by_a_link_is_the_one_behind_it(two: Two, tmp_path: Path) -> None:
    here, there = two
    (tmp_path / "link").symlink_to(tmp_path)
    here.sql(f"CREATE TABLE linked (id INT) USING delta LOCATION '{tmp_path / 'link' / 'one'}'")
    here.sql("CREATE STREAM TABLE st AS SELECT id FROM linked")
    for ps in (here, there):
        ps.sql("CREATE TABLE IF NOT EXISTS bystander (id INT); DROP TABLE bystander; SHOW TABLES")
        assert ps.refresh("st").action.value == "NO_DATA"


def test_a_view_and_the_table_below_it_that_change_there_fit_each_other_here(two: Two, tmp_path: Path) -> None:
    here, there = two
    here.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT id FROM t")
    there.sql("CREATE STREAM TABLE st AS SELECT id FROM v")
    there.sql(
        f"""
        CREATE TABLE words (id STRING) USING delta LOCATION '{tmp_path / "words"}'; INSERT INTO words VALUES ('007');
        DROP TABLE t; CREATE TABLE t USING delta LOCATION '{tmp_path / "words"}';
        CREATE OR REPLACE VIEW v AS SELECT id, 1 AS one FROM t""",
        yes=True,
    )
    assert rows(here, "SELECT * FROM v") == [("007", 1)]
    here.refresh("st")
    assert rows(here, "SELECT * FROM st") == [("007",)]
    assert_exact(here, "st")


def test_a_table_whose_source_goes_elsewhere_before_its_first_fill_reads_it_there(two: Two, tmp_path: Path) -> None:
    here, _ = two
    for place, value in (("one", 1), ("two", 2)):
        here.sql(f"CREATE TABLE {place} (id INT) USING delta LOCATION '{tmp_path / place}'")
        here.sql(f"INSERT INTO {place} VALUES ({value})")
    here.sql(f"CREATE TABLE moving USING delta LOCATION '{tmp_path / 'one'}'")
    here.sql("CREATE STREAM TABLE st INITIALIZE ON SCHEDULE AS SELECT id FROM moving")
    here.sql(f"DROP TABLE moving; CREATE TABLE moving USING delta LOCATION '{tmp_path / 'two'}'", yes=True)
    here.refresh("st")
    assert rows(here, "SELECT * FROM st") == [(2,)]
    assert_exact(here, "st")


def test_a_session_that_starts_shows_stream_tables_although_no_plain_name_is_known(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = tmp_path / "lone"
    with penstock.open(root, spark=with_names_of_its_own(spark, root)) as ps:
        ps.sql(f"CREATE TABLE t (id INT) USING delta LOCATION '{tmp_path / 't'}'; INSERT INTO t VALUES (1)")
        ps.sql(f"CREATE STREAM TABLE st AS SELECT id FROM delta.`{tmp_path / 't'}`; DROP TABLE t", yes=True)
        assert names(ps) == set()
    session = with_names_of_its_own(spark, root)
    with penstock.open(root, spark=session) as ps:
        assert ps.spark.sql("SELECT id FROM st").collect() == [(1,)]


def test_a_name_that_cannot_be_registered_costs_the_others_nothing(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = two
    there.sql("CREATE TABLE gone (id INT); CREATE VIEW v AS SELECT id FROM gone; CREATE TABLE t (id INT)")
    there.sql("CREATE STREAM TABLE st AS SELECT count(*) AS n FROM t; DROP TABLE gone", yes=True)
    here.refresh("st")
    assert here._warehouse.unnamed == {"default.v"}
    whole = []
    monkeypatch.setattr("penstock.refresh.share_names.registered", lambda spark: whole.append(spark) or [])
    here.refresh("st")
    assert whole == []
    monkeypatch.undo()
    there.sql("CREATE TABLE gone (id INT)")
    assert rows(here, "SELECT * FROM v") == []
    assert here._warehouse.unnamed == frozenset()
