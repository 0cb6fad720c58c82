"""Migrations: from nothing to the latest schema, once, whole, and never backwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from places import Place, PostgresPlace, SqlitePlace

from penstock.catalog import migrations, open_catalog
from penstock.catalog.migrations import MIGRATIONS, Connection
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.errors import CatalogError

LATEST = len(MIGRATIONS)


def version(place: Place) -> int:
    ((number,),) = place.sql("SELECT number FROM meta WHERE key = 'schema_version'")
    return int(number)


def named(place: Place, kind: str) -> set[str]:
    return {name for found, name, _ in place.objects() if found == kind}


def test_an_empty_place_gets_every_table_and_view(place: Place) -> None:
    open_catalog(place.address).close()
    assert named(place, "table") == {
        "meta",
        "stream_tables",
        "dependencies",
        "refresh_history",
        "counters",
        "journal",
        "leases",
        "known_tables",
        "subscriptions",
        "alerts",
        "warehouse",
    }
    assert named(place, "view") == {
        "pg_stat_stream_tables",
        "stream_tables_info",
        "stream_table_refreshes",
        "stream_table_graph",
    }
    assert version(place) == LATEST


def test_all_text_sorts_by_its_bytes(postgres_place: PostgresPlace) -> None:
    open_catalog(postgres_place.address).close()
    columns = postgres_place.sql(
        "SELECT table_name, column_name, collation_name FROM information_schema.columns"
        f" WHERE table_schema = '{postgres_place.schema}' AND data_type = 'text'"
    )
    assert len(columns) > 40
    assert [each for each in columns if each[2] != "C"] == []


def test_opening_again_changes_nothing(place: Place, catalog: SqlCatalog, add: Callable[..., int]) -> None:
    stream_table_id = add("a", "orders")
    before = place.objects()
    with open_catalog(place.address) as again:
        assert [meta.id for meta in again.get_all()] == [stream_table_id]
        assert len(again.all_dependencies()) == 1
    assert place.objects() == before


def test_a_later_step_runs_once_over_existing_rows(
    place: Place, catalog: SqlCatalog, add: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_table_id = add("a")
    runs: list[int] = []

    def up(connection: Connection) -> None:
        runs.append(1)
        connection.execute("ALTER TABLE stream_tables ADD COLUMN colour TEXT")

    assert catalog.get_by_id(stream_table_id).id == stream_table_id
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, up))
        for _ in range(2):
            with open_catalog(place.address) as again:
                assert again.get_by_id(stream_table_id).id == stream_table_id
    assert runs == [1]
    assert version(place) == LATEST + 1
    assert catalog.get_by_id(stream_table_id).id == stream_table_id, "who had it open goes on"


def test_a_step_that_fails_leaves_the_old_schema(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    open_catalog(place.address).close()
    before = place.objects()

    def up(connection: Connection) -> None:
        connection.execute("CREATE TABLE half_done (x INTEGER)")
        connection.execute("this is not SQL")

    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, up))
    with pytest.raises(CatalogError):
        open_catalog(place.address)
    assert place.objects() == before
    assert version(place) == LATEST


def test_a_catalog_of_a_newer_penstock_is_refused(place: Place) -> None:
    open_catalog(place.address).close()
    place.sql(f"UPDATE meta SET number = {LATEST + 1} WHERE key = 'schema_version'")
    with pytest.raises(CatalogError, match=r"newer Penstock .*\n.*Upgrade"):
        open_catalog(place.address)
    assert version(place) == LATEST + 1


def test_somebody_elses_database_is_left_alone(place: Place) -> None:
    if isinstance(place, PostgresPlace):
        place.server.sql(f"CREATE SCHEMA {place.schema}")
    place.sql("CREATE TABLE theirs (x INTEGER)")
    before = place.objects()
    with pytest.raises(CatalogError, match="not a Penstock catalog"):
        open_catalog(place.address)
    assert place.objects() == before


def test_an_empty_file_is_a_place(path: Path) -> None:
    path.touch()
    place = SqlitePlace(path)
    open_catalog(path).close()
    assert version(place) == LATEST


def test_rows_the_schema_forbids_cannot_be_written(catalog: SqlCatalog, place: Place) -> None:
    with pytest.raises(Exception, match="source_type"):
        place.sql("INSERT INTO dependencies VALUES (1, 's', 's', NULL, 'FILE', 'delta', '[]')")
