"""What only a SQLite file can suffer: damage, a folder that is not there, a writer that holds the file."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from penstock.catalog import SqliteCatalog, StreamTableMeta
from penstock.errors import CatalogError, CatalogUnusable
from penstock.names import TableName

META = StreamTableMeta(name=TableName.parse("a"), table_id="id", path="/a", query="SELECT 1", definition_hash="h")


def test_a_damaged_file_asks_for_repair(path: Path) -> None:
    path.write_bytes(b"this was never a database" * 100)
    with pytest.raises(CatalogError, match="penstock repair") as caught:
        SqliteCatalog(path)
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)


def test_a_lost_table_inside_the_file_is_a_catalog_error(path: Path) -> None:
    catalog = SqliteCatalog(path)
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TABLE refresh_history")
    raw.close()
    with pytest.raises(CatalogError, match="no such table") as caught:
        catalog.recent_history()
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)


def test_a_file_that_cannot_be_opened_is_a_catalog_error(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").mkdir()
    with pytest.raises(CatalogError, match="folder exists"):
        SqliteCatalog(tmp_path / "catalog.db")


def test_a_folder_that_is_missing_is_told_and_not_made(tmp_path: Path) -> None:
    for must_exist in (False, True):
        with pytest.raises(CatalogUnusable, match="there is no folder"):
            SqliteCatalog(tmp_path / "missing" / "catalog.db", must_exist=must_exist)
    assert not (tmp_path / "missing").exists()


def test_a_long_writer_in_another_connection_is_waited_for_and_then_reported(path: Path, now: datetime) -> None:
    with SqliteCatalog(path, busy_timeout=timedelta(milliseconds=50)) as catalog:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(CatalogError, match="try again"):
            catalog.insert(META, [], now=now)
        assert catalog.get_all() == [], "readers do not wait for writers"
        blocker.execute("ROLLBACK")
        blocker.close()
        assert catalog.insert(META, [], now=now) == 1
