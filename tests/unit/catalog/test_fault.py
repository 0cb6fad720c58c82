"""What keeps a file from being a catalog is found, whatever it is, and the file is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from places import Place

from penstock.catalog import SqliteCatalog, StreamTableMeta, open_catalog
from penstock.catalog.fault import fault, set_aside
from penstock.catalog.open_catalog import CATALOG_FILE
from penstock.catalog.upgrade import latest
from penstock.errors import CatalogError, CatalogLost
from penstock.names import TableName


@pytest.fixture
def file(tmp_path: Path, now: datetime) -> Path:
    """A catalog that is large enough to have pages to damage."""
    path = tmp_path / CATALOG_FILE
    with SqliteCatalog(path) as catalog:
        for number in range(20):
            name, query = TableName.parse(f"t{number}"), f"SELECT '{'long' * 1000}'"
            meta = StreamTableMeta(name=name, table_id=name.table, path="/", query=query, definition_hash="h")
            catalog.insert(meta, [], now=now)
    return path


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def scramble(file: Path) -> None:
    """As if encrypted: no page is what it was."""
    file.write_bytes(bytes(byte ^ 0x5A for byte in file.read_bytes()))


def damage_a_page(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-4096:] = b"\xff" * 4096
    file.write_bytes(content)


def sql(*statements: str) -> Callable[[Path], None]:
    def run(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as raw:
            for statement in statements:
                raw.execute(statement)

    return run


def make_another_database(file: Path) -> None:
    file.unlink()
    sql("CREATE TABLE customers (id INT)")(file)


def make_a_folder(file: Path) -> None:
    file.unlink()
    (file / "inside").mkdir(parents=True)


BREAKING = {
    "cut in half": cut,
    "encrypted": scramble,
    "one page of garbage": damage_a_page,
    "no database": lambda file: file.write_bytes(b"not a database at all" * 500),
    "empty": lambda file: file.write_bytes(b""),
    "another database": make_another_database,
    "a folder": make_a_folder,
    "no schema version": sql("DELETE FROM meta WHERE key = 'schema_version'"),
    "no meta": sql("DROP TABLE meta"),
    "a table less": sql("DROP TABLE refresh_history"),
    "a column less": sql("ALTER TABLE subscriptions DROP COLUMN acknowledged_at"),
    "a value that is none": sql("UPDATE stream_tables SET frontier = '{cut', frontier_version = 1"),
    "a moment that is none": sql("UPDATE stream_tables SET data_timestamp = 'yesterday'"),
}


@pytest.mark.parametrize("how", BREAKING)
def test_every_way_to_break_a_file_is_a_fault(file: Path, how: str) -> None:
    assert fault(file) is None
    BREAKING[how](file)
    assert fault(file)


@pytest.mark.parametrize("how", BREAKING)
def test_a_broken_catalog_is_moved_aside_whole_and_another_can_be_made(file: Path, how: str) -> None:
    BREAKING[how](file)
    log = file.with_name(file.name + "-wal")
    log.write_bytes(b"half a log")
    held = None if file.is_dir() else file.read_bytes()
    aside = set_aside(file)
    assert aside == file.with_name("catalog.broken-1.sqlite")
    assert aside.with_name(aside.name + "-wal").read_bytes() == b"half a log"
    assert (aside / "inside").is_dir() if held is None else aside.read_bytes() == held
    assert [each.name for each in file.parent.glob(f"{CATALOG_FILE}*")] == []
    open_catalog(file).close()
    assert fault(file) is None
    file.write_bytes(b"broken again")
    assert set_aside(file).name == "catalog.broken-2.sqlite"


def test_half_a_log_is_no_fault_because_what_was_committed_before_it_holds(file: Path, now: datetime) -> None:
    with SqliteCatalog(file) as catalog:
        catalog.set_paused(True)
        log = file.with_name(file.name + "-wal")
        content = log.read_bytes()
        copy = file.with_name("copy") / CATALOG_FILE
        copy.parent.mkdir()
        copy.write_bytes(file.read_bytes())
        copy.with_name(log.name).write_bytes(content[: len(content) // 2])
    assert fault(copy) is None
    with SqliteCatalog(copy) as catalog:
        assert len(catalog.get_all()) == 20


def test_what_repair_cannot_mend_is_no_fault(file: Path, tmp_path: Path) -> None:
    assert fault(tmp_path / "nothing.sqlite") is None
    assert fault("postgresql://ann@host/shop") is None
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert fault(file) is None
    sql(f"UPDATE meta SET number = {latest() + 1} WHERE key = 'schema_version'")(file)
    assert fault(file) is None
    another = file.with_name("customers.db")
    make_another_database(file)
    file.rename(another)
    assert fault(another) is None, "somebody else's database is left where it is"
    with pytest.raises(CatalogError, match="not a Penstock catalog"):
        open_catalog(another)


def test_a_catalog_that_must_exist_is_not_made(tmp_path: Path, place: Place) -> None:
    address = place.address
    with pytest.raises(CatalogLost, match="penstock repair"):
        open_catalog(address, must_exist=True)
    assert list(tmp_path.iterdir()) == []
    open_catalog(address).close()
    open_catalog(address, must_exist=True).close()


@pytest.mark.parametrize("size", [0, 4096])
def test_an_empty_file_is_no_catalog_that_must_exist(file: Path, size: int) -> None:
    """A file that was made and never filled: by a crash, or by somebody's touch."""
    file.unlink()
    if size:
        sql("PRAGMA journal_mode = WAL")(file)
    else:
        file.touch()
    assert file.stat().st_size == size
    with pytest.raises(CatalogLost):
        open_catalog(file, must_exist=True)
