"""A warehouse is a folder given by its path; an address is refused everywhere, and no folder of that name is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock
from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.catalog.warehouse_folder import had_catalog, is_warehouse, warehouse_folder
from penstock.cli.app import app
from penstock.errors import CatalogLost, CatalogUnusable, InvalidSetting, WarehouseUnusable

ADDRESSES = [
    "file:///tmp/shop",
    "file:/tmp/shop",
    "FILE:///tmp/shop",
    "s3a://bucket/shop",
    "s3://bucket/shop",
    "hdfs://host:8020/shop",
    "hdfs:///shop",
    "abfss://box@account.dfs.core.windows.net/shop",
    "gs://bucket/shop",
    "dbfs:/shop",
    "file:shop",
    "s3a:bucket",
    "HDFS:shop",
    " s3a://bucket/shop",
    "\tfile:/tmp/shop",
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_refused_by_every_way_in(here: Path, address: str) -> None:
    for way_in in (penstock.open, penstock.open_lazily):
        for place in (address, Path(address)):
            with pytest.raises(WarehouseUnusable):
                way_in(place)
    for arguments in (["init", address], ["status", "-w", address], ["sql", "-e", "SELECT 1", "-w", address]):
        refused = CliRunner().invoke(app, arguments)
        assert refused.exit_code == 1
        assert len(refused.stderr.splitlines()) == 2
        assert "WAREHOUSE_UNUSABLE" in refused.stderr
    refused = CliRunner().invoke(app, ["drop", "x", "--yes"], env={"PENSTOCK_WAREHOUSE": address})
    assert "WAREHOUSE_UNUSABLE" in refused.stderr
    assert list(here.iterdir()) == []


def test_the_path_to_write_instead_of_a_file_address_is_named() -> None:
    with pytest.raises(WarehouseUnusable, match=r"Write it as /tmp/my shop$"):
        warehouse_folder("file:///tmp/my%20shop")
    with pytest.raises(WarehouseUnusable, match=r"Write it as shop$"):
        warehouse_folder(" file:shop")


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_no_file_of_a_catalog_and_no_folder_of_jars(
    here: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    with pytest.raises(CatalogUnusable):
        open_catalog(address)
    with pytest.raises(CatalogUnusable):
        penstock.open_lazily(here, settings={"catalog": address})
    from penstock.engine.spark.jars import resolve_jars

    monkeypatch.setenv("PENSTOCK_JARS", address)
    with pytest.raises(InvalidSetting):
        resolve_jars()
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_names_no_folder(here: Path, path: str) -> None:
    with pytest.raises(WarehouseUnusable, match="names no folder"):
        warehouse_folder(path)
    assert warehouse_folder(".") == here


def test_paths_with_colons_are_paths(here: Path) -> None:
    assert warehouse_folder("a:b/c") == here / "a:b" / "c"
    assert warehouse_folder(here / "s3a:" / "x") == here / "s3a:" / "x"
    assert warehouse_folder("2026:shop") == here / "2026:shop"
    assert warehouse_folder(" shop") == here / " shop"


def test_a_folder_is_a_warehouse_by_its_settings_its_catalog_or_its_stream_tables(here: Path) -> None:
    assert not is_warehouse(here)
    for held in ("penstock.toml", CATALOG_FILE):
        (here / held).touch()
        assert is_warehouse(here)
        (here / held).unlink()
    (here / "stream_tables" / "default" / "revenue-1" / "_delta_log").mkdir(parents=True)
    assert is_warehouse(here)


@pytest.mark.parametrize("table", ["orders", "mart.db/orders"])
def test_plain_tables_of_a_warehouse_are_not_begun_anew_without_their_catalog(here: Path, table: str) -> None:
    (here / "tables" / table / "_delta_log").mkdir(parents=True)
    # Tables that were there before it was a warehouse are none of a catalog's.
    assert not had_catalog(here)
    penstock.open_lazily(here).close()
    assert had_catalog(here)
    for file in here.glob(f"{CATALOG_FILE}*"):
        file.unlink()
    with pytest.raises(CatalogLost, match="penstock repair"):
        penstock.open_lazily(here)
    for command in ("status", "doctor", "history --json"):
        refused = CliRunner().invoke(app, [*command.split(), "-w", str(here)])
        assert (refused.exit_code, "penstock repair" in refused.output) == (1, True), command
    assert not (here / CATALOG_FILE).exists()


def test_a_warehouse_without_tables_may_begin_a_catalog_anew(here: Path) -> None:
    penstock.open_lazily(here).close()
    (here / CATALOG_FILE).unlink()
    penstock.open_lazily(here).close()
    assert (here / CATALOG_FILE).exists()
