"""A catalog, stream tables to put into it, and a receiver; hand-written Delta logs are those of the engine's tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from monitored import NOON, Add, Receiver

from penstock.catalog import Dependency, SourceType, SqliteCatalog, StreamTableMeta
from penstock.names import TableName

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    with SqliteCatalog(tmp_path / "catalog.db") as opened:
        yield opened


@pytest.fixture
def add(catalog: SqliteCatalog) -> Add:
    """Add a stream table that reads Delta tables, given as id → path; returns its id."""

    def add(name: str = "revenue", sources: dict[str, str] | None = None, now: datetime = NOON, **fields: Any) -> int:
        meta = StreamTableMeta(
            **{
                "name": TableName.parse(name),
                "table_id": f"id-{name}",
                "path": f"/warehouse/{name}",
                "query": f"SELECT * FROM {name}_source",
                "definition_hash": "h",
                "target_lag": timedelta(minutes=1),
                **fields,
            }
        )
        reads = [
            Dependency(source_id=key, source_name=f"default.{key}", source_type=SourceType.TABLE, source_path=path)
            for key, path in (sources or {}).items()
        ]
        return catalog.insert(meta, reads, now=now)

    return add


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()
