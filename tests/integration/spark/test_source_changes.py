"""Whatever happens to a source: the next refresh is exact, or says in one line why it cannot be, and keeps the rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cases_of_source_changes import BAG, GROUPS, ROWS, SEED, Breaks, Change, Goes, Rebuilds
from deltalake import DeltaTable

from penstock.engine.spark import registry
from penstock.errors import PenstockError, QueryInvalid, RetentionCut
from penstock.layout.retention import holdings
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

CASES = [(row, case) for row, cases in ROWS.items() for case in cases if not isinstance(case, str)]


def of(kind: type) -> list[Any]:
    """The cases that end in one way, by their names."""
    return [
        pytest.param(case, id=f"{case.name}: {row[:30]}", marks=[pytest.mark.slow] if case.slow else [])
        for row, case in CASES
        if isinstance(case, kind)
    ]


BOTH = {"bag": ["id", "v"], "groups": ["v", "n", "ids"]}


def source(ps: StreamTables, kind: str = "") -> None:
    ps.sql(f"CREATE TABLE src (id INT, v INT, extra STRING) {kind}")
    ps.sql(SEED)


def location(ps: StreamTables, table: str = "src") -> Path:
    return Path(str(ps.spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["location"]).removeprefix("file:"))


def stored(ps: StreamTables, name: str) -> list[Any]:
    return sorted(ps.table(name).collect(), key=repr)


def begin(ps: StreamTables, case: Goes | Rebuilds | Breaks) -> dict[str, list[str]]:
    """A source and stream tables over it: name → the columns that it is to have for good."""
    if case.create:
        ps.sql(case.create)
    else:
        source(ps, case.kind)
    for number, query in enumerate(case.queries):
        ps.create_stream_table(f"st{number}", query)
    return {f"st{number}": ps.table(f"st{number}").columns for number in range(len(case.queries))}


def do(ps: StreamTables, change: Change) -> None:
    if isinstance(change, str):
        ps.sql(change, yes=True)
    else:
        change(ps.spark)


def check(ps: StreamTables, columns: dict[str, list[str]], action: str, reason: str | None = None) -> None:
    """Refresh the stream tables, hold them against their queries, and see that they go on from there."""
    for name, held in columns.items():
        done = ps.refresh(name)
        assert (str(done.action), done.reason_code) == (action, reason), f"{name}: {done.reason}"
        assert ps.audit(name).exact, name
        assert ps.table(name).columns == held, name
        assert ps.refresh(name).action == "NO_DATA"


@pytest.mark.parametrize("case", of(Goes))
def test_a_change_that_an_interval_can_express(ps: StreamTables, case: Goes) -> None:
    columns = begin(ps, case)
    for change in case.changes:
        do(ps, change)
    check(ps, columns, case.action)


@pytest.mark.parametrize("case", of(Rebuilds))
def test_a_change_that_needs_a_rebuild(ps: StreamTables, case: Rebuilds) -> None:
    columns = begin(ps, case)
    ps.create_stream_table("reader", "SELECT count(*) AS n FROM st0")
    for change in case.changes:
        do(ps, change)
    check(ps, columns, "REINITIALIZE", "SOURCE_CHANGED")
    if case.types:
        assert tuple(kind for _, kind in ps.table("st0").dtypes) == case.types
    assert case.says in str(ps.history("st0")[1].reason)
    told = ps.alerts("st0", max_rows=1)[0]
    assert (told.event.value, told.facts["reason"]) == ("reinitialize_needed", "SOURCE_CHANGED")
    assert (told.facts["source"], case.says in str(told.facts["change"])) == ("shop.src", True)
    ps.refresh("reader")
    assert_exact(ps, "reader")
    ps.sql("DELETE FROM src WHERE id = 1")
    check(ps, columns, "INCREMENTAL")


@pytest.mark.parametrize("case", of(Breaks))
def test_a_change_that_breaks_the_query_keeps_the_rows(ps: StreamTables, case: Breaks) -> None:
    columns = begin(ps, case)
    held = {name: stored(ps, name) for name in columns}
    do(ps, case.breaks)
    for name in columns:
        for _ in range(2):
            with pytest.raises(PenstockError) as broken:
                ps.refresh(name)
            assert broken.value.condition == case.error
            assert [part for part in case.says if part not in str(broken.value)] == []
            assert stored(ps, name) == held[name]
        assert [each.status for each in ps.history(name)] == ["FAILED", "FAILED", "COMPLETED"]
    assert {(row.status, case.says[0] in str(row.last_error)) for row in ps.status()} == {("ERROR", True)}
    for change in case.mends:
        do(ps, change)
    for name in columns:
        full = "rand()" in case.queries[int(name[2:])]
        assert str(ps.refresh(name).action) == case.then, name
        assert full or ps.audit(name).exact, name
        assert ps.table(name).columns == columns[name]
    assert {row.status for row in ps.status()} == {"ACTIVE"}


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
    check(ps, BOTH, "REINITIALIZE", "FRONTIER_LOST")
    # Everything is taken over: nothing is needed of the past.
    ps.sql("VACUUM src RETAIN 0 HOURS")
    check(ps, BOTH, "NO_DATA")
    ps.sql("DELETE FROM src WHERE id = 1")
    check(ps, BOTH, "INCREMENTAL")


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
    check(ps, BOTH, "INCREMENTAL")
    ps.sql("DELETE FROM src WHERE id = 1")
    ps.sql("INSERT INTO src VALUES (6, 10, 'f')")
    clean_up()
    check(ps, BOTH, "REINITIALIZE", "FRONTIER_LOST")


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

    ps.sql("DROP VIEW inner_view", yes=True)
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


def test_a_star_over_a_view_keeps_its_columns(ps: StreamTables) -> None:
    source(ps)
    ps.sql("CREATE VIEW seen AS SELECT id, v FROM src")
    ps.create_stream_table("st", "SELECT * FROM seen")
    ps.sql("CREATE OR REPLACE VIEW seen AS SELECT extra, v + 1 AS v, id FROM src")
    assert ps.refresh("st").reason_code == "VIEW_CHANGED"
    assert ps.table("st").columns == ["id", "v"]
    assert sorted(row.v for row in ps.table("st").where("v IS NOT NULL").collect()) == [11, 21, 21]
    assert ps.audit("st").exact
    ps.sql("CREATE OR REPLACE VIEW seen AS SELECT id, extra FROM src")
    with pytest.raises(QueryInvalid, match="column v of `seen`, which is not there any more"):
        ps.refresh("st")
    assert len(stored(ps, "st")) == 4


def test_a_name_that_stands_for_a_table_elsewhere_is_followed(ps: StreamTables, tmp_path: Path) -> None:
    for number, place in enumerate(("one", "two"), 1):
        ps.spark.sql(f"CREATE TABLE delta.`{tmp_path / place}` USING delta AS SELECT {number} AS id")
    ps.sql(f"CREATE TABLE moving USING delta LOCATION '{tmp_path / 'one'}'")
    ps.create_stream_table("st", "SELECT id FROM moving")
    # The files of the first one stay where they are.
    ps.sql("DROP TABLE moving", yes=True)
    ps.sql(f"CREATE TABLE moving USING delta LOCATION '{tmp_path / 'two'}'")
    assert ps.refresh("st").action == "REINITIALIZE"
    assert_exact(ps, "st")
    ps.sql("INSERT INTO moving VALUES (3)")
    ps.sql("CREATE TABLE unrelated (id INT)")
    assert ps.refresh("st").action == "INCREMENTAL"
    assert sorted(row.id for row in ps.table("st").collect()) == [2, 3]
