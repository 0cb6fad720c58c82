"""Whatever happens to a source: the next refresh is exact, or says in one line why it cannot be, and keeps the rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from penstock.engine import registry
from penstock.errors import PenstockError, QueryInvalid, RetentionCut, SourceMissing
from penstock.refresh.retention import holdings
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

BAG = "SELECT id, v FROM src"
GROUPS = "SELECT v, count(*) AS n, sum(id) AS ids FROM src GROUP BY v"
MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
NO_FEED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')"
SEED = "INSERT INTO src VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 20, NULL), (4, NULL, 'd')"


def source(ps: StreamTables, kind: str = "") -> None:
    ps.sql(f"CREATE TABLE src (id INT, v INT, extra STRING) {kind}")
    ps.sql(SEED)


def location(ps: StreamTables, table: str = "src") -> Path:
    return Path(str(ps.spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["location"]).removeprefix("file:"))


def stored(ps: StreamTables, name: str) -> list[Any]:
    return sorted(ps.table(name).collect(), key=repr)


def check(ps: StreamTables, action: str, reason: str | None = None) -> None:
    """Refresh both stream tables, hold them against their queries, and see that they go on from there."""
    for name in ("bag", "groups"):
        done = ps.refresh(name)
        assert (str(done.action), done.reason_code) == (action, reason), f"{name}: {done.reason}"
        assert_exact(ps, name)
        assert ps.refresh(name).action == "NO_DATA"


@pytest.mark.parametrize(
    ("kind", "changes", "action"),
    [
        pytest.param("", ["OPTIMIZE src"], "NO_DATA", id="optimize"),
        pytest.param(
            "",
            ["INSERT INTO src VALUES (5, 10, 'e')", "DELETE FROM src WHERE id = 1", "OPTIMIZE src"],
            "INCREMENTAL",
            id="optimize after changes",
            marks=pytest.mark.slow,
        ),
        pytest.param("", ["DELETE FROM src"], "INCREMENTAL", id="delete all"),
        pytest.param(
            NO_FEED, ["TRUNCATE TABLE src", "INSERT INTO src VALUES (1, 10, 'z')"], "INCREMENTAL", id="truncate"
        ),
        pytest.param(
            "", ["INSERT OVERWRITE src VALUES (1, 10, 'a'), (7, 7, 'g')"], "INCREMENTAL", id="insert overwrite"
        ),
        pytest.param(
            NO_FEED,
            ["INSERT INTO src REPLACE WHERE v = 20 SELECT * FROM VALUES (8, 20, 'h') AS t(id, v, extra)"],
            "INCREMENTAL",
            id="replace where",
        ),
        pytest.param(
            "",
            ["DELETE FROM src WHERE v = 20", "INSERT INTO src VALUES (9, 9, 'i')", "RESTORE src TO VERSION AS OF 1"],
            "INCREMENTAL",
            id="restore to where it was",
        ),
        pytest.param(
            "",
            ["RESTORE src TO VERSION AS OF 0"],
            "INCREMENTAL",
            id="restore to before the frontier",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "",
            [
                "MERGE INTO src USING (SELECT * FROM VALUES (1, 11), (6, 6) AS t(id, v)) n ON src.id = n.id"
                " WHEN MATCHED THEN UPDATE SET v = n.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (n.id, n.v)"
                " WHEN NOT MATCHED BY SOURCE AND src.v IS NULL THEN DELETE"
            ],
            "INCREMENTAL",
            id="merge",
        ),
        pytest.param(
            VECTORS,
            [
                "DELETE FROM src WHERE id = 2",
                "UPDATE src SET v = 21 WHERE id = 3",
                "INSERT INTO src VALUES (5, 20, 'e')",
            ],
            "INCREMENTAL",
            id="deletion vectors",
        ),
        pytest.param(
            MAPPED,
            ["INSERT INTO src VALUES (5, 20, 'e')", "DELETE FROM src WHERE id = 1"],
            "INCREMENTAL",
            id="column mapping",
        ),
        pytest.param(
            "PARTITIONED BY (v)",
            ["DELETE FROM src WHERE v = 20", "INSERT INTO src (id, v) VALUES (5, NULL), (6, 10)"],
            "INCREMENTAL",
            id="partitioned by a column of the query",
        ),
        pytest.param(
            "PARTITIONED BY (extra)",
            ["DELETE FROM src WHERE extra IS NULL", "INSERT INTO src VALUES (5, 20, 'a/b=c d%')", "OPTIMIZE src"],
            "INCREMENTAL",
            id="partitioned by another column",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "CLUSTER BY (id)",
            ["INSERT INTO src VALUES (5, 20, 'e')", "OPTIMIZE src", "DELETE FROM src WHERE id < 3"],
            "INCREMENTAL",
            id="clustered",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "",
            ["ALTER TABLE src ADD COLUMNS (more DOUBLE)", "INSERT INTO src VALUES (5, 20, 'e', 1.5)"],
            "INCREMENTAL",
            id="column added",
        ),
        pytest.param(
            "",
            ["ALTER TABLE src ADD COLUMNS (more DOUBLE)"],
            "NO_DATA",
            id="column added, no rows",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            MAPPED,
            ["ALTER TABLE src RENAME COLUMN extra TO other", "INSERT INTO src VALUES (5, 20, 'e')"],
            "INCREMENTAL",
            id="unused column renamed",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            MAPPED,
            ["ALTER TABLE src DROP COLUMN extra", "INSERT INTO src VALUES (5, 20)"],
            "INCREMENTAL",
            id="unused column dropped",
        ),
        pytest.param(
            MAPPED,
            [
                "ALTER TABLE src RENAME COLUMN v TO w",
                "INSERT INTO src VALUES (5, 20, 'e')",
                "ALTER TABLE src RENAME COLUMN w TO v",
                "DELETE FROM src WHERE id = 1",
            ],
            "INCREMENTAL",
            id="used column renamed and back",
        ),
    ],
)
def test_a_change_that_an_interval_can_express(ps: StreamTables, kind: str, changes: list[str], action: str) -> None:
    source(ps, kind)
    ps.create_stream_table("bag", BAG)
    ps.create_stream_table("groups", GROUPS)
    for change in changes:
        ps.sql(change)
    check(ps, action)


@pytest.mark.parametrize(
    ("kind", "changes", "says"),
    [
        pytest.param(
            "",
            ["CREATE OR REPLACE TABLE src (id INT, v INT, extra STRING)", "INSERT INTO src VALUES (1, 1, 'x')"],
            "replaced",
            id="replaced, same columns",
        ),
        pytest.param(
            "",
            ["CREATE OR REPLACE TABLE src AS SELECT CAST(id AS BIGINT) AS id, 'text' AS v FROM range(3)"],
            "replaced",
            id="replaced, other types",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "",
            ["DROP TABLE src", "CREATE TABLE src (id INT, v INT, extra STRING)", SEED, SEED],
            "dropped and created again",
            id="dropped and created again",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
            ["ALTER TABLE src ALTER COLUMN v TYPE BIGINT", "INSERT INTO src VALUES (5, 5000000000, 'e')"],
            "column v was int and is now bigint",
            id="used column retyped",
        ),
        pytest.param(
            MAPPED,
            [
                "ALTER TABLE src DROP COLUMN v",
                "ALTER TABLE src ADD COLUMNS (v INT)",
                "INSERT INTO src VALUES (5, 'e', 5)",
            ],
            "another",
            id="used column dropped and added anew",
        ),
        pytest.param(
            "",
            [
                "ALTER TABLE src SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
                "ALTER TABLE src RENAME COLUMN v TO w",
                "ALTER TABLE src ADD COLUMNS (v INT)",
            ],
            "another",
            id="used column renamed and added anew, by a mapping that was not there",
        ),
    ],
)
def test_a_change_that_needs_a_rebuild(ps: StreamTables, kind: str, changes: list[str], says: str) -> None:
    source(ps, kind)
    ps.create_stream_table("bag", BAG)
    ps.create_stream_table("groups", GROUPS)
    ps.create_stream_table("reader", "SELECT count(*) AS groups FROM groups")
    for change in changes:
        ps.sql(change)
    check(ps, "REINITIALIZE", "SOURCE_CHANGED")
    assert says in str(ps.history("bag")[1].reason)
    told = ps.alerts("bag", max_rows=1)[0]
    assert (told.event.value, told.facts["reason"]) == ("reinitialize_needed", "SOURCE_CHANGED")
    assert (told.facts["source"], says in str(told.facts["change"])) == ("shop.src", True)
    ps.refresh("reader")
    assert_exact(ps, "reader")
    ps.sql("DELETE FROM src WHERE id = 1")
    check(ps, "INCREMENTAL")


@pytest.mark.parametrize(
    ("kind", "breaks", "error", "says", "mends", "then"),
    [
        pytest.param(
            MAPPED,
            "ALTER TABLE src RENAME COLUMN v TO w",
            QueryInvalid,
            "column v was renamed to w",
            ["ALTER TABLE src RENAME COLUMN w TO v"],
            "NO_DATA",
            id="used column renamed",
        ),
        pytest.param(
            MAPPED,
            "ALTER TABLE src DROP COLUMN v",
            QueryInvalid,
            "column v was dropped",
            ["ALTER TABLE src ADD COLUMNS (v INT)"],
            "REINITIALIZE",
            id="used column dropped",
        ),
        pytest.param(
            "",
            "CREATE OR REPLACE TABLE src (id INT)",
            QueryInvalid,
            "`v`",
            ["CREATE OR REPLACE TABLE src (id INT, v INT)", "INSERT INTO src VALUES (5, 5)"],
            "REINITIALIZE",
            id="replaced without a used column",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "",
            "DROP TABLE src",
            SourceMissing,
            "Delta log",
            ["CREATE TABLE src (id INT, v INT, extra STRING)", SEED],
            "REINITIALIZE",
            id="dropped",
        ),
    ],
)
def test_a_change_that_breaks_the_query_keeps_the_rows(
    ps: StreamTables, kind: str, breaks: str, error: type[PenstockError], says: str, mends: list[str], then: str
) -> None:
    source(ps, kind)
    ps.create_stream_table("bag", BAG)
    held = stored(ps, "bag")
    ps.sql(breaks)
    for _ in range(2):
        with pytest.raises(error) as broken:
            ps.refresh("bag")
        assert says in str(broken.value)
        assert stored(ps, "bag") == held
    [row] = ps.status()
    assert (row.status, says in str(row.last_error)) == ("ERROR", True)
    assert [each.status for each in ps.history("bag")] == ["FAILED", "FAILED", "COMPLETED"]
    for statement in mends:
        ps.sql(statement)
    assert str(ps.refresh("bag").action) == then
    assert_exact(ps, "bag")
    assert ps.status()[0].status == "ACTIVE"


def test_a_field_that_was_dropped_and_added_anew_is_another_one(ps: StreamTables) -> None:
    ps.sql(f"CREATE TABLE src (id INT, s STRUCT<x: INT, a: INT>) {MAPPED}")
    ps.sql("INSERT INTO src VALUES (1, named_struct('x', 1, 'a', 5))")
    ps.create_stream_table("bag", "SELECT id, s.a AS a FROM src")
    ps.sql("ALTER TABLE src DROP COLUMN s.a")
    ps.sql("ALTER TABLE src ADD COLUMN s.a INT")
    assert ps.refresh("bag").reason_code == "SOURCE_CHANGED"
    assert_exact(ps, "bag")


def test_a_star_keeps_its_columns_when_the_source_grows(ps: StreamTables) -> None:
    source(ps)
    ps.create_stream_table("star", "SELECT * FROM src")
    ps.sql("ALTER TABLE src ADD COLUMNS (more INT); INSERT INTO src VALUES (5, 50, 'e', 500)")
    assert ps.refresh("star").action == "INCREMENTAL"
    assert ps.table("star").columns == ["id", "v", "extra"]
    assert {tuple(row) for row in stored(ps, "star")} == {
        tuple(row) for row in ps.spark.sql("SELECT id, v, extra FROM src").collect()
    }
    assert ps.audit("star").exact
    assert ps.sql("CREATE OR REPLACE STREAM TABLE star AS SELECT * FROM src").message.startswith(
        "stream table shop.star created"
    )
    assert_exact(ps, "star", "REINITIALIZE")


def test_a_vacuumed_frontier_is_lost_and_rebuilt(ps: StreamTables) -> None:
    source(ps)
    ps.create_stream_table("bag", BAG)
    ps.create_stream_table("groups", GROUPS)
    ps.sql("UPDATE src SET v = v + 1 WHERE id < 3; DELETE FROM src WHERE id = 4")
    ps.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    ps.spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    link = ps.path / "link"
    link.symlink_to(location(ps))
    for target in ("src", "shop.src", f"delta.`{location(ps)}`", f"'{location(ps)}'", f"delta.`{link}`"):
        with pytest.raises(RetentionCut, match=r"shop\.bag, shop\.groups still needs of .*src: shop\.bag stands at"):
            ps.sql(f"VACUUM {target} RETAIN 0 HOURS")
    # To try it out, and to remove what nobody needs, is nobody's business.
    ps.sql("VACUUM src RETAIN 0 HOURS DRY RUN; VACUUM src RETAIN 200 HOURS; VACUUM src")
    assert len(list(location(ps).glob("*.parquet"))) > 1
    ps.spark.sql("VACUUM src RETAIN 0 HOURS")
    check(ps, "REINITIALIZE", "FRONTIER_LOST")
    # Everything is taken over: nothing is needed of the past.
    ps.sql("VACUUM src RETAIN 0 HOURS")
    check(ps, "NO_DATA")
    ps.sql("DELETE FROM src WHERE id = 1")
    check(ps, "INCREMENTAL")


def test_retention_is_told_before_it_runs_out(ps: StreamTables) -> None:
    source(ps, "TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 4 hours')")
    ps.create_stream_table("bag", BAG)
    catalog, logs = ps._warehouse.catalog, ps._warehouse.logs
    now = datetime.now(UTC)

    def warned(later: timedelta) -> list[str]:
        kept = holdings(catalog, logs, catalog.get_all())
        return [each.ends[2] for each in kept if each.ends is not None and each.running_out(now + later)]

    # Nothing happened since: whatever is cleaned up, it is not missed.
    assert warned(timedelta(days=365)) == []
    ps.sql("INSERT INTO src VALUES (5, 20, 'e')")
    # Only the log holds what is needed: no file has left the table.
    assert warned(timedelta(days=10)) == []
    assert warned(timedelta(days=29)) == ["delta.logRetentionDuration"]
    ps.sql("DELETE FROM src WHERE id = 1")
    assert warned(timedelta(hours=2)) == []
    assert warned(timedelta(hours=3, minutes=5)) == ["delta.deletedFileRetentionDuration"]
    ps.refresh("bag")
    assert warned(timedelta(days=365)) == []


def test_log_clean_up_below_the_frontier_is_harmless_and_above_it_rebuilds(ps: StreamTables) -> None:
    source(ps)
    ps.create_stream_table("bag", BAG)
    ps.create_stream_table("groups", GROUPS)
    root = location(ps)

    def clean_up() -> None:
        table = DeltaTable(root)
        table.create_checkpoint()
        for number in range(table.version()):
            (root / "_delta_log" / f"{number:020d}.json").unlink(missing_ok=True)
            (root / "_delta_log" / f".{number:020d}.json.crc").unlink(missing_ok=True)
            (root / "_delta_log" / f"{number:020d}.crc").unlink(missing_ok=True)

    clean_up()
    ps.sql("INSERT INTO src VALUES (5, 20, 'e')")
    check(ps, "INCREMENTAL")
    ps.sql("DELETE FROM src WHERE id = 1")
    ps.sql("INSERT INTO src VALUES (6, 10, 'f')")
    clean_up()
    check(ps, "REINITIALIZE", "FRONTIER_LOST")


def test_a_redefined_view_is_noticed_even_if_no_row_moved(ps: StreamTables) -> None:
    source(ps)
    ps.sql("""
        CREATE TABLE other (id INT, v INT);
        INSERT INTO other VALUES (100, 1);
        CREATE VIEW inner_view AS SELECT id, v FROM src WHERE v > 10;
        CREATE VIEW outer_view AS SELECT id, v FROM inner_view""")
    ps.create_stream_table("st", "SELECT v, count(*) AS n FROM outer_view GROUP BY v")
    ps.create_stream_table("reader", "SELECT sum(n) AS n FROM st")
    assert ps.refresh("st").action == "NO_DATA"

    ps.sql("CREATE OR REPLACE VIEW inner_view AS SELECT id, v FROM src WHERE v > 5")
    done = ps.refresh("st")
    assert (done.action, done.reason_code) == ("REINITIALIZE", "VIEW_CHANGED")
    assert_exact(ps, "st")

    ps.sql("CREATE OR REPLACE VIEW inner_view AS SELECT id, v FROM other UNION ALL SELECT id, v FROM src")
    done = ps.refresh("reader")
    assert [(each.action, each.reason_code) for each in done.upstream] == [("REINITIALIZE", "VIEW_CHANGED")]
    assert_exact(ps, "st")
    assert_exact(ps, "reader")
    assert ("shop.st", "shop.other", "TABLE") in ps.graph().edges()
    ps.sql("INSERT INTO other VALUES (101, 1)")
    assert ps.refresh("reader").upstream[0].action == "INCREMENTAL"
    assert_exact(ps, "st")
    assert_exact(ps, "reader")

    ps.sql("DROP VIEW inner_view")
    with pytest.raises(QueryInvalid, match="inner_view"):
        ps.refresh("st")
    assert ps.status()[1].status == "ERROR"


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        pytest.param(["CREATE OR REPLACE VIEW shop.seen (v, id) AS SELECT id, v FROM pairs"], [(2, 1)], id="columns"),
        pytest.param(
            ["USE elsewhere", "CREATE OR REPLACE VIEW shop.seen (id, v) AS SELECT id, v FROM pairs", "USE shop"],
            [(3, 4)],
            id="schema",
        ),
    ],
)
def test_a_view_of_the_same_text_is_another_one(
    ps: StreamTables, tmp_path: Path, changes: list[str], rows: list[tuple[int, int]]
) -> None:
    ps.sql(f"""
        CREATE SCHEMA elsewhere LOCATION '{tmp_path / "elsewhere.db"}';
        CREATE TABLE pairs AS SELECT 1 AS id, 2 AS v;
        CREATE TABLE elsewhere.pairs AS SELECT 3 AS id, 4 AS v;
        CREATE VIEW seen (id, v) AS SELECT id, v FROM pairs""")
    try:
        ps.create_stream_table("st", "SELECT id, v FROM seen")
        assert ps.refresh("st").action == "NO_DATA"
        for change in changes:
            ps.sql(change)
        assert ps.refresh("st").reason_code == "VIEW_CHANGED"
        assert list(map(tuple, ps.table("st").collect())) == rows
        assert ps.refresh("st").action == "NO_DATA"
    finally:
        ps.sql("USE shop")
        ps.spark.sql("DROP SCHEMA elsewhere CASCADE")


JAPANESE = "CREATE OR REPLACE VIEW seen AS SELECT id, hour(at) AS hour FROM moments"


def test_a_view_under_other_settings_is_another_one_and_comes_back_with_them(ps: StreamTables) -> None:
    ps.sql("""
        CREATE TABLE moments (id INT, at TIMESTAMP);
        INSERT INTO moments VALUES (1, TIMESTAMP '2024-01-01 03:00:00 UTC');
        SET TIME ZONE 'UTC'""")
    ps.sql(JAPANESE)
    ps.create_stream_table("st", "SELECT id, hour FROM seen")
    assert [tuple(row) for row in stored(ps, "st")] == [(1, 3)]
    try:
        ps.sql("SET TIME ZONE 'Asia/Tokyo'")
        ps.sql(JAPANESE)
        ps.sql("SET TIME ZONE 'UTC'")
        done = ps.refresh("st")
        assert (done.action, done.reason_code) == ("REINITIALIZE", "VIEW_CHANGED")
        assert [tuple(row) for row in stored(ps, "st")] == [(1, 12)]
        assert_exact(ps, "st")
        # As a process does that finds Spark's catalog empty.
        [held] = [each for each in ps._warehouse.catalog.known_tables() if each.table == "seen"]
        ps.spark.sql("DROP VIEW seen")
        assert registry.restore(ps.spark, [held]) == []
        assert ps.spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert [tuple(row) for row in ps.spark.sql("SELECT * FROM seen").collect()] == [(1, 12)]
        assert ps.refresh("st").action == "NO_DATA"
    finally:
        ps.spark.conf.unset("spark.sql.session.timeZone")


def test_a_name_that_stands_for_a_table_elsewhere_is_followed(ps: StreamTables, tmp_path: Path) -> None:
    for number, place in enumerate(("one", "two"), 1):
        ps.spark.sql(f"CREATE TABLE delta.`{tmp_path / place}` USING delta AS SELECT {number} AS id")
    ps.sql(f"CREATE TABLE moving USING delta LOCATION '{tmp_path / 'one'}'")
    ps.create_stream_table("st", "SELECT id FROM moving")
    # The files of the first one stay where they are.
    ps.sql("DROP TABLE moving")
    ps.sql(f"CREATE TABLE moving USING delta LOCATION '{tmp_path / 'two'}'")
    assert ps.refresh("st").action == "REINITIALIZE"
    assert_exact(ps, "st")
    ps.sql("INSERT INTO moving VALUES (3)")
    ps.sql("CREATE TABLE unrelated (id INT)")
    assert ps.refresh("st").action == "INCREMENTAL"
    assert sorted(row.id for row in ps.table("st").collect()) == [2, 3]
