"""A lost catalog comes back from the tables, whatever lies beside them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.errors import CatalogError, CatalogLost
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


def lose(ps: StreamTables) -> None:
    """Forget every stream table; that plain tables are still known makes no difference here."""
    for meta in ps._warehouse.catalog.get_all():
        ps._warehouse.catalog.delete(meta.id)
        ps.spark.sql(f"DROP VIEW {meta.name.sql}")


def test_what_a_killed_create_left_does_not_take_the_place_of_the_table(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit

    ps.sql("CREATE TABLE src AS SELECT 1 AS id")
    with monkeypatch.context() as dying:
        dying.setattr(ps._warehouse.catalog, "insert", killed)
        # What is killed does not clean up either.
        dying.setattr("shutil.rmtree", killed)
        with pytest.raises(SystemExit):
            ps.create_stream_table("st", "SELECT id FROM src")
    [left] = (ps.path / "stream_tables").glob("*/st-*")
    # Which of the two comes first is up to their names.
    left.rename(left.with_name("st-00000000"))
    ps.create_stream_table("st", "SELECT id, id * 2 AS twice FROM src")
    lose(ps)
    lines = ps.repair().lines
    assert sum("restored" in line for line in lines) == 1, lines
    assert any("st-00000000" in line for line in lines)
    assert ps.table("st").columns == ["id", "twice"]
    assert ps.refresh("st").action == "NO_DATA"
    assert_exact(ps, "st")


def test_a_schema_that_holds_stream_tables_alone_comes_back_with_them(ps: StreamTables, tmp_path: Path) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id")
    ps.sql(f"CREATE SCHEMA mart LOCATION '{tmp_path / 'mart.db'}'")
    try:
        ps.create_stream_table("mart.st", "SELECT id FROM shop.src")
        lose(ps)
        ps.sql("DROP SCHEMA mart")
        lines = ps.repair().lines
        assert sum("restored, at version" in line for line in lines) == 1, lines
        assert_exact(ps, "mart.st")
    finally:
        ps.spark.sql("DROP SCHEMA IF EXISTS mart CASCADE")


def test_a_broken_catalog_is_kept_and_rebuilt_with_what_the_tables_say(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id")
    ps.create_stream_table("st", "SELECT DISTINCT * FROM src", target_lag="5 minutes")
    ps.sql("ALTER TABLE src ADD COLUMNS (more INT)")
    ps.subscribe("st", durable="mailer").cancel()
    ps.close()
    file = ps.path / "catalog.sqlite"
    file.write_bytes(b"garbage" * 1000)
    for way_in in (penstock.open_lazily, penstock.open):
        with pytest.raises(CatalogError, match="penstock repair"):
            way_in(ps.path)
    report = penstock.repair(ps.path, spark=ps.spark)
    assert report.kept == ps.path / "catalog.broken-1.sqlite"
    assert report.kept.read_bytes() == b"garbage" * 1000
    assert str(report.kept) in report.lines[0]
    assert any("st: restored, at version" in line for line in report.lines)
    assert any("subscriptions" in each for each in report.gone)
    with penstock.open(ps.path, spark=ps.spark) as again:
        [row] = again.status()
        assert (row.name, row.target_lag) == ("shop.st", "5 minutes")
        assert again.subscriptions() == []
        again.sql("INSERT INTO src VALUES (2, 5), (2, 6)")
        assert again.refresh("st").action == "INCREMENTAL"
        # A star means what it meant at CREATE.
        assert sorted(map(tuple, again.table("st").collect())) == [(1,), (2,)]
        assert again.audit("st").exact
    report = penstock.repair(ps.path, spark=ps.spark)
    assert (report.lines, report.gone, report.kept) == (("nothing to repair",), (), None)


def test_stream_tables_without_a_catalog_are_told_of_and_no_empty_catalog_is_made(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id")
    ps.create_stream_table("st", "SELECT id FROM src")
    ps.close()
    for file in ps.path.glob("catalog.sqlite*"):
        file.unlink()
    for way_in in (penstock.open_lazily, penstock.open):
        with pytest.raises(CatalogLost, match="penstock repair"):
            way_in(ps.path)
    told = CliRunner().invoke(app, ["status", "-w", str(ps.path)])
    assert (told.exit_code, "CATALOG_LOST" in told.stderr) == (1, True)
    assert not (ps.path / "catalog.sqlite").exists()
    assert penstock.repair(ps.path, spark=ps.spark).kept is None
    told = CliRunner().invoke(app, ["status", "-w", str(ps.path)])
    assert (told.exit_code, "shop.st" in told.stdout) == (0, True)


def test_what_cannot_be_put_back_is_named_with_its_reason_in_one_line(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id; CREATE VIEW seen AS SELECT id FROM src")
    ps.create_stream_table("kept", "SELECT count(*) AS n FROM src")
    ps.create_stream_table("over_a_view", "SELECT id FROM seen")
    ps.create_stream_table("behind_it", "SELECT id FROM over_a_view")
    ps.create_stream_table("damaged", "SELECT id + 1 AS id FROM src")
    [damaged] = (ps.path / "stream_tables" / "shop").glob("damaged-*")
    lose(ps)
    ps.sql("DROP VIEW seen")
    (damaged / "_delta_log" / f"{0:020}.json").write_bytes(b"")
    report = ps.repair()
    assert report.missing == ("shop.behind_it", "shop.damaged", "shop.over_a_view") == tuple(ps.lost())
    told = {name: [line for line in report.lines if f"{name}" in line] for name in ("over_a_view:", "damaged-")}
    assert all(len(lines) == 1 for lines in told.values()), report.lines
    assert "`seen` cannot be found" in told["over_a_view:"][0]
    assert not any("Search path" in line or "\n" in line for line in report.lines), report.lines
    assert report.to_json()["missing"] == report.missing
    told_by = CliRunner().invoke(app, ["status", "-w", str(ps.path)])
    assert "shop.over_a_view; put them back" in told_by.stderr
    ps.sql("CREATE VIEW seen AS SELECT id FROM src")
    assert ps.repair().missing == ("shop.damaged",) == tuple(ps.lost())
    # What a killed CREATE left of a table that the catalog knows is nothing that is missing.
    [folder] = (ps.path / "stream_tables" / "shop").glob("kept-*")
    shutil.copytree(folder, folder.with_name("kept-00000000"))
    shutil.rmtree(damaged)
    report = ps.repair()
    assert (report.missing, ps.lost()) == ((), []), report


def test_plain_tables_without_a_catalog_are_told_of_and_come_back(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id; CREATE VIEW seen AS SELECT id FROM src")
    ps.close()
    for file in ps.path.glob("catalog.sqlite*"):
        file.unlink()
    with pytest.raises(CatalogLost, match="penstock repair"):
        penstock.open(ps.path, spark=ps.spark)
    report = penstock.repair(ps.path, spark=ps.spark)
    assert report.lines == ("plain table shop.src: registered",)
    assert any("views" in each for each in report.gone)
    with penstock.open(ps.path, spark=ps.spark) as again:
        assert again.sql("SHOW STREAM TABLES").message is None
        assert again.sql("SELECT id FROM src").collect() == [(1,)]
        assert again.repair().gone == ()


def test_an_empty_list_says_what_the_catalog_lacks(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id; CREATE STREAM TABLE st AS SELECT id FROM src")
    lose(ps)
    told = ps.sql("SHOW STREAM TABLES")
    assert (told.rows, told.message) == (
        (),
        "in the warehouse, but not in its catalog: shop.st; put them back with: penstock repair",
    )
