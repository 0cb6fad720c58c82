"""A fresh catalog in each kind of database, a fixed moment, and stream tables to put into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from places import Place, PostgresPlace, SqlitePlace

from penstock.catalog import (
    Action,
    Dependency,
    RefreshRecord,
    RefreshStatus,
    SourceType,
    StreamTableMeta,
    open_catalog,
)
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.names import TableName
from postgres import Postgres

Add = Callable[..., int]
Record = Callable[..., RefreshRecord]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.db"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield SqlitePlace(path)
        return
    yield request.getfixturevalue("postgres_place")


@pytest.fixture
def postgres_place(postgres: Postgres) -> Iterator[PostgresPlace]:
    held = PostgresPlace(postgres)
    yield held
    postgres.sql(f"DROP SCHEMA IF EXISTS {held.schema} CASCADE")


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def catalog(place: Place) -> Iterator[SqlCatalog]:
    with open_catalog(place.address) as opened:
        yield opened


@pytest.fixture
def add(catalog: SqlCatalog, now: datetime) -> Add:
    """Add a stream table that reads the given Delta tables, and return its id."""

    def add(name: str, /, *sources: str, **fields: Any) -> int:
        meta = StreamTableMeta(
            **{
                "name": TableName.parse(name),
                "table_id": f"id-{name}",
                "path": f"/warehouse/{name}",
                "query": "SELECT 1",
                "definition_hash": "h",
                **fields,
            }
        )
        reads = [Dependency(source_id=s, source_name=f"default.{s}", source_type=SourceType.TABLE) for s in sources]
        return catalog.insert(meta, reads, now=now)

    return add


@pytest.fixture
def record(now: datetime) -> Record:
    """A RUNNING line of history."""

    def record(refresh_id: str, stream_table_id: int, **fields: Any) -> RefreshRecord:
        return RefreshRecord(
            **{
                "refresh_id": refresh_id,
                "stream_table_id": stream_table_id,
                "name": "default.revenue",
                "action": Action.INCREMENTAL,
                "status": RefreshStatus.RUNNING,
                "started_at": now,
                **fields,
            }
        )

    return record
