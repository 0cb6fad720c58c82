"""What is away for a moment: stored rows stay, nothing is written to its place, and all goes on when it is back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from warehouses import warehouse

import penstock
from penstock.errors import PenstockError, SourceMissing, StatementFailed, StorageMissing
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

OVER = {
    "of_ext": "shop.ext",
    "of_man": "shop.man",
    "of_path": "delta.`{disk}/path`",
    "of_view": "shop.seen",
    "of_files": "shop.files",
}
NAMES = ("ext", "man", "files", "seen", *OVER, "of_st")


def content(*places: Path) -> dict[str, bytes | None]:
    """Every folder, file and byte at these places."""
    return {
        str(each): each.read_bytes() if each.is_file() else None
        for place in places
        for each in sorted(place.rglob("*"))
    }


def forget(spark: SparkSession) -> None:
    """Leave Spark's catalog as a new process finds it; files stay."""
    external = spark._jsparkSession.sessionState().catalog().externalCatalog()
    for name in NAMES:
        if not external.tableExists("shop", name):
            continue
        held = external.getTable("shop", name)
        if held.tableType().name() == "MANAGED":
            parts = [held.productElement(index) for index in range(held.productArity())]
            parts[1] = spark._jvm.org.apache.spark.sql.catalyst.catalog.CatalogTableType.EXTERNAL()
            external.alterTable(held.copy(*parts))
        external.dropTable("shop", name, True, False)


def add_row(folder: Path, delta: bool) -> None:
    """Another row, written by somebody else."""
    rows = pa.table({"id": pa.array([1000], pa.int64())})
    if delta:
        write_deltalake(str(folder), rows, mode="append")
    else:
        pq.write_table(rows, folder / "more.parquet")


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk of its own with sources of every kind, and a stream table over each. Every test leaves all as it was."""
    root = tmp_path_factory.mktemp("shop")
    disk = root / "disk"
    disk.mkdir()
    write_deltalake(str(disk / "path"), pa.table({"id": pa.array(range(100), pa.int64())}))
    with warehouse(spark, root) as ps:
        ps.sql(
            f"""CREATE TABLE ext (id BIGINT) USING delta LOCATION '{disk}/ext';
            CREATE TABLE man (id BIGINT) USING delta;
            CREATE TABLE files (id BIGINT) USING parquet LOCATION '{disk}/files';
            CREATE VIEW seen AS SELECT id FROM ext WHERE id >= 0;
            INSERT INTO ext SELECT id FROM range(100);
            INSERT INTO man SELECT id FROM range(100);
            INSERT INTO files SELECT id FROM range(100)"""
        )
        for name, source in OVER.items():
            ps.create_stream_table(name, f"SELECT count(*) AS n FROM {source.format(disk=disk)}")
        ps.create_stream_table("of_st", "SELECT n FROM of_ext")
        yield root


@contextmanager
def opened_anew(spark: SparkSession, root: Path) -> Iterator[StreamTables]:
    """What a new process finds."""
    forget(spark)
    session = spark.newSession()
    with penstock.open(root, spark=session) as ps:
        session.sql("USE shop")
        yield ps


def fails(ps: StreamTables, name: str) -> PenstockError:
    with pytest.raises(PenstockError) as failed:
        ps.refresh(name)
    return failed.value


def stored(ps: StreamTables, name: str) -> list[Any]:
    meta = ps._find(name)
    return [row.n for row in ps.spark.read.format("delta").load(meta.path).collect()]


def rows(ps: StreamTables, *names: str) -> list[int]:
    return [stored(ps, name)[0] for name in names]


def test_sources_that_are_away_are_missing_and_go_on_where_they_were(spark: SparkSession, shop: Path) -> None:
    disk, away = shop / "disk", shop / "away"
    managed = shop / "tables" / "shop.db"
    places = {"path": disk / "path", "ext": disk / "ext", "files": disk / "files", "man": managed / "man"}
    with opened_anew(spark, shop) as ps:
        held = rows(ps, *OVER)
    away.mkdir()
    for name, place in places.items():
        place.rename(away / name)
    before = content(disk, managed, away)
    for _ in range(2):
        with opened_anew(spark, shop) as ps:
            assert {name: fails(ps, name).condition for name in OVER} == dict.fromkeys(OVER, "SOURCE_MISSING")
            assert rows(ps, *OVER) == held
            told = {each.stream_table for each in ps.alerts() if each.facts.get("condition") == "SOURCE_MISSING"}
            assert told == {f"shop.{name}" for name in OVER}
            assert "SOURCE_MISSING" in [each.code for each in ps.diagnose("of_man").findings]
            for name in OVER.keys() - {"of_files"}:
                for ask in (ps.explain, ps.audit):
                    with pytest.raises(SourceMissing):
                        ask(name)
            with pytest.raises(StatementFailed):
                ps.sql("REFRESH TABLE ext")
            # A statement must not make the catalog forget what is away.
            ps.sql("CREATE SCHEMA IF NOT EXISTS shop")
        assert content(disk, managed, away) == before
    # They are back, and somebody has written to them meanwhile; the process that found them missing goes on.
    with opened_anew(spark, shop) as ps:
        for name, place in places.items():
            (away / name).rename(place)
            add_row(place, delta=name != "files")
        for name in OVER:
            assert ps.refresh(name).action == ("FULL" if name == "of_files" else "INCREMENTAL"), name
            assert_exact(ps, name)
        assert rows(ps, *OVER) == [each + 1 for each in held]
        assert ps.refresh("of_st").rows_inserted == 1


def test_a_disk_that_is_not_mounted_is_no_empty_disk(spark: SparkSession, shop: Path) -> None:
    disk, away = shop / "disk", shop / "unmounted"
    of_disk = [name for name in OVER if name != "of_man"]
    with opened_anew(spark, shop) as ps:
        held = rows(ps, *OVER)
    disk.rename(away)
    before = content(away)
    for mount_point in (False, True):
        if mount_point:
            disk.mkdir()
        with opened_anew(spark, shop) as ps:
            assert {name: fails(ps, name).condition for name in of_disk} == dict.fromkeys(of_disk, "SOURCE_MISSING")
            assert ps.refresh("of_man").action == "NO_DATA"
            assert rows(ps, *OVER) == held
        assert (disk.exists(), content(away), content(disk)) == (mount_point, before, {})
    disk.rmdir()
    away.rename(disk)
    with opened_anew(spark, shop) as ps:
        # There is no log of plain files.
        assert {ps.refresh(name).action for name in of_disk} == {"NO_DATA", "FULL"}
        assert rows(ps, *OVER) == held


def test_a_storage_that_is_away_is_said_and_goes_on_where_it_was(spark: SparkSession, shop: Path) -> None:
    storages, away = shop / "stream_tables", shop / "elsewhere"
    storages.rename(away)
    before = content(away)
    with opened_anew(spark, shop) as ps:
        assert isinstance(fails(ps, "of_ext"), StorageMissing)
        assert "STORAGE_MISSING" in [each.facts.get("condition") for each in ps.alerts("of_ext")]
        assert not storages.exists()
        assert content(away) == before
        away.rename(storages)
        add_row(shop / "disk" / "ext", delta=True)
        assert ps.refresh("of_ext").action == "INCREMENTAL"
        assert_exact(ps, "of_ext")


def test_an_empty_table_in_the_place_of_a_source_is_none(spark: SparkSession, shop: Path) -> None:
    place, kept = shop / "disk" / "ext", shop / "kept"
    place.rename(kept)
    # What Spark makes of a place without a log.
    spark.sql(f"CREATE TABLE shop.wrong USING delta LOCATION '{place}'")
    spark.sql("DROP TABLE shop.wrong")
    with opened_anew(spark, shop) as ps:
        held = rows(ps, "of_ext")
        error = fails(ps, "of_ext")
        assert isinstance(error, SourceMissing)
        assert f"remove {place}/_delta_log" in error.text
        assert rows(ps, "of_ext") == held
        shutil.rmtree(place)
        kept.rename(place)
        assert ps.refresh("of_ext").action == "NO_DATA"


def test_what_is_registered_unread_is_what_a_statement_registers(spark: SparkSession, shop: Path) -> None:
    external = spark._jsparkSession.sessionState().catalog().externalCatalog()

    def told(name: str) -> list[str]:
        held = external.getTable("shop", name)
        parts = [held.productElement(index) for index in range(held.productArity())]
        return [str(each) for each in parts if each != held.createTime()]

    with opened_anew(spark, shop) as ps:
        found = {name: told(name) for name in ("ext", "man")}
        ps.spark.sql(f"CREATE TABLE again USING delta LOCATION '{shop}/disk/ext'")
        assert [each.replace("again", "ext") for each in told("again")] == found["ext"]
        ps.spark.sql("CREATE TABLE fresh (id INT) USING delta")
        assert [each.replace("fresh", "man") for each in told("fresh")] == found["man"]
        ps.spark.sql("DROP TABLE again")
        ps.spark.sql("DROP TABLE fresh")
