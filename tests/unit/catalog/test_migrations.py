"""Migrations: from nothing to the latest schema, once, whole, and never backwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from penstock.catalog import SqliteCatalog, migrations
from penstock.catalog.migrations import MIGRATIONS, Connection
from penstock.errors import CatalogError

LATEST = len(MIGRATIONS)


def schema(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as raw:
        return sorted(raw.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as raw:
        return int(raw.execute("SELECT number FROM meta WHERE key = 'schema_version'").fetchone()[0])


def test_an_empty_file_gets_every_table(path: Path) -> None:
    path.touch()
    SqliteCatalog(path).close()
    tables = {name for name, sql in schema(path) if sql.startswith("CREATE TABLE")}
    assert tables == {
        "meta",
        "stream_tables",
        "dependencies",
        "refresh_history",
        "counters",
        "leases",
        "known_tables",
        "alerts",
    }
    assert version(path) == LATEST


def test_opening_again_changes_nothing(path: Path, catalog: SqliteCatalog, add: Callable[..., int]) -> None:
    stream_table_id = add("a", "orders")
    before = schema(path)
    with SqliteCatalog(path) as again:
        assert [meta.id for meta in again.get_all()] == [stream_table_id]
        assert len(again.all_dependencies()) == 1
    assert schema(path) == before


def test_a_later_step_runs_once_over_existing_rows(
    path: Path, catalog: SqliteCatalog, add: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_table_id = add("a")
    catalog.close()
    runs: list[int] = []

    def up(connection: Connection) -> None:
        runs.append(1)
        connection.execute("ALTER TABLE stream_tables ADD COLUMN colour TEXT")

    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, up))
    for _ in range(2):
        with SqliteCatalog(path) as again:
            assert again.get_by_id(stream_table_id).id == stream_table_id
    assert runs == [1]
    assert version(path) == LATEST + 1


def test_a_step_that_fails_leaves_the_old_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteCatalog(path).close()
    before = schema(path)

    def up(connection: Connection) -> None:
        connection.execute("CREATE TABLE half_done (x INTEGER)")
        connection.execute("this is not SQL")

    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, up))
    with pytest.raises(CatalogError):
        SqliteCatalog(path)
    assert schema(path) == before
    assert version(path) == LATEST


def test_a_catalog_of_a_newer_penstock_is_refused(path: Path) -> None:
    SqliteCatalog(path).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE meta SET number = ? WHERE key = 'schema_version'", (LATEST + 1,))
    with pytest.raises(CatalogError, match=r"newer Penstock .*\n.*Upgrade"):
        SqliteCatalog(path)
    assert version(path) == LATEST + 1


def test_somebody_elses_database_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("CREATE TABLE theirs (x INTEGER)")
    before = schema(path)
    with pytest.raises(CatalogError, match="not a Penstock catalog"):
        SqliteCatalog(path)
    assert schema(path) == before


def test_rows_the_schema_forbids_cannot_be_written(catalog: SqliteCatalog, path: Path, now: datetime) -> None:
    with closing(sqlite3.connect(path)) as raw, pytest.raises(sqlite3.IntegrityError, match="source_type"):
        raw.execute("INSERT INTO dependencies VALUES (1, 's', 's', NULL, 'FILE', 'delta', '[]')")
