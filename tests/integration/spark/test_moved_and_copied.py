"""A warehouse that was moved goes on where it is; a copy is a warehouse of its own and never touches the original."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warehouses import opened_anew, with_names_of_its_own

import penstock
from penstock.errors import SourceCopied
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

SHOP = """
    CREATE SCHEMA mart;
    CREATE TABLE orders (id INT, region STRING);
    CREATE TABLE mart.regions (region STRING, boss STRING);
    CREATE VIEW named AS SELECT o.id, r.boss FROM orders o JOIN mart.regions r ON o.region = r.region;
    INSERT INTO orders VALUES (1, 'north'), (2, 'south');
    INSERT INTO mart.regions VALUES ('north', 'ann'), ('south', 'bob');
    CREATE STREAM TABLE mart.per_boss REFRESH MODE INCREMENTAL AS SELECT boss, count(*) AS n FROM named GROUP BY boss;
    CREATE STREAM TABLE everybody REFRESH MODE INCREMENTAL AS SELECT sum(n) AS n FROM mart.per_boss"""


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> Path:
    """A closed warehouse with two schemas, a view and stream tables over each other."""
    with opened_anew(spark, tmp_path / "A") as ps:
        ps.sql(SHOP)
    return tmp_path / "A"


def fingerprints(root: Path) -> dict[str, str]:
    """Every file with a hash of its bytes."""
    return {
        str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }


def rows(ps: StreamTables, text: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in ps.sql(text).collect())


def goes_on(ps: StreamTables) -> None:
    """A new row goes through both stream tables, without a rebuild."""
    before = rows(ps, "SELECT n FROM everybody")[0][0]
    ps.sql("INSERT INTO orders VALUES (3, 'north')")
    done = ps.refresh("everybody")
    assert [each.action for each in (*done.upstream, done)] == ["INCREMENTAL", "INCREMENTAL"]
    assert rows(ps, "SELECT n FROM everybody") == [(int(str(before)) + 1,)]
    assert ps.audit("everybody").exact
    assert_exact(ps, "mart.per_boss")


def inside(ps: StreamTables) -> bool:
    """Everything that the catalog names lies in the warehouse."""
    catalog = ps._warehouse.catalog
    places = [each.path for each in catalog.get_all()]
    places += [each.source_path for each in catalog.all_dependencies() if each.source_path]
    places += [each.path.removeprefix("file:") for each in catalog.known_tables() if each.path]
    return bool(places) and all(Path(each).is_relative_to(ps.path) for each in places)


@contextmanager
def repaired(spark: SparkSession, root: Path) -> Iterator[StreamTables]:
    """The catalog is lost and everything is found again; the view, which only the catalog knew, is made anew."""
    for file in root.glob("catalog.sqlite*"):
        file.unlink()
    session = with_names_of_its_own(spark, root)
    penstock.repair(root, spark=session)
    with penstock.open(root, spark=session) as ps:
        ps.sql("CREATE VIEW named AS SELECT o.id, r.boss FROM orders o JOIN mart.regions r ON o.region = r.region")
        assert sum("restored" in line for line in ps.repair().lines) == 2
        yield ps


def test_a_moved_warehouse_goes_on_from_where_it_was(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    made.rename(tmp_path / "M of mine")
    with opened_anew(spark, tmp_path / "M of mine") as ps:
        assert {row.status for row in ps.status()} == {"ACTIVE"}
        assert rows(ps, "SELECT * FROM orders") == [(1, "north"), (2, "south")]
        goes_on(ps)
        assert inside(ps)
        assert ps.repair().lines == ("nothing to repair",)
    assert not made.exists()
    (tmp_path / "M of mine").rename(made)
    with repaired(spark, made) as ps:
        goes_on(ps)
        assert inside(ps)
    assert not (tmp_path / "M of mine").exists()


def test_nothing_that_a_copy_does_reaches_the_original(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    before = fingerprints(made)
    shutil.copytree(made, tmp_path / "B")
    with opened_anew(spark, tmp_path / "B") as ps:
        goes_on(ps)
        assert inside(ps)
    # A copy of the copy, whose catalog is lost.
    copied = fingerprints(tmp_path / "B")
    shutil.copytree(tmp_path / "B", tmp_path / "C")
    with repaired(spark, tmp_path / "C") as ps:
        goes_on(ps)
        assert inside(ps)
        assert len(ps.changelog("everybody").after_version(0)) == 3, "its history goes back to the first original"
        ps.drop_stream_table("mart.per_boss", cascade=True)
        ps.sql("DROP VIEW named; DROP TABLE orders; DROP TABLE mart.regions; DROP SCHEMA mart CASCADE")
        assert ps.status() == []
    assert list((tmp_path / "C" / "tables").rglob("*.parquet")) == []
    assert fingerprints(tmp_path / "B") == copied
    assert fingerprints(made) == before


def test_a_path_of_the_original_does_not_hold_up_what_a_copy_reads_of_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    with opened_anew(spark, tmp_path / "A") as ps:
        ps.sql("CREATE TABLE o (id INT); INSERT INTO o VALUES (1), (2)")
        ps.sql(f"CREATE STREAM TABLE by_path AS SELECT count(*) AS n FROM delta.`{tmp_path}/A/tables/o`")
        ps.sql("CREATE STREAM TABLE by_name AS SELECT count(*) AS n FROM o")
        ps.sql("CREATE STREAM TABLE sums AS SELECT x.n + y.n AS n FROM by_name x CROSS JOIN by_path y")
    shutil.copytree(tmp_path / "A", tmp_path / "B")
    with opened_anew(spark, tmp_path / "B") as ps:
        ps.sql("INSERT INTO o VALUES (3)")
        done = {each.name: each for each in ps.refresh_all()}
        assert (rows(ps, "SELECT * FROM by_name"), rows(ps, "SELECT * FROM by_path")) == ([(3,)], [(2,)])
        # Its two sources have become two tables of one id, and which is meant only a person can say.
        assert isinstance(done["default.sums"].error, SourceCopied)
        assert (rows(ps, "SELECT * FROM sums"), {row.name: row.status for row in ps.status()}["default.sums"]) == (
            [(4,)],
            "ERROR",
        )
        ps.sql("ALTER STREAM TABLE by_path AS SELECT count(*) AS n FROM o")
        ps.refresh_all()
        assert rows(ps, "SELECT * FROM sums") == [(6,)]
