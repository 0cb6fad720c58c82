"""A warehouse whose catalog is in PostgreSQL: the same work, and a second worker that sees it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warehouses import warehouse

import penstock
from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.errors import CatalogUnusable
from penstock.testing.oracle import assert_exact
from postgres import Postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables


@pytest.fixture
def address(postgres: Postgres) -> Iterator[str]:
    yield postgres.url("warehouse")
    postgres.sql("DROP SCHEMA IF EXISTS warehouse CASCADE")


@pytest.fixture
def shared(spark: SparkSession, tmp_path: Path, address: str) -> Iterator[StreamTables]:
    with warehouse(spark, tmp_path, catalog=address) as opened:
        yield opened


def test_a_second_worker_sees_and_goes_on_with_the_same_tables(
    shared: StreamTables, address: str, tmp_path: Path, postgres: Postgres
) -> None:
    shared.sql("CREATE TABLE orders (id BIGINT, region STRING) USING delta")
    shared.sql("INSERT INTO orders VALUES (1, 'north'), (2, 'south')")
    shared.sql("CREATE STREAM TABLE per_region AS SELECT region, count(*) AS n FROM orders GROUP BY region")
    shared.sql("INSERT INTO orders VALUES (3, 'north')")
    with penstock.open(tmp_path, spark=shared.spark, catalog=address) as other:
        assert other.refresh("per_region").action == "INCREMENTAL"
        assert_exact(other, "per_region")
    assert shared.refresh("per_region").action == "NO_DATA"
    assert not (tmp_path / CATALOG_FILE).exists()
    assert postgres.sql("SELECT name, refresh_count FROM warehouse.pg_stat_stream_tables") == [["per_region", 3]]


def test_leases_go_by_the_clock_of_the_catalog(shared: StreamTables, address: str) -> None:
    shared.sql("CREATE TABLE orders (id BIGINT) USING delta")
    shared.sql("CREATE STREAM TABLE copied AS SELECT id FROM orders")
    shared.sql("INSERT INTO orders VALUES (1)")
    # A machine whose clock is a day behind would hold leases that have ended before they begin.
    warehouse = shared._warehouse
    warehouse.refresher._now = warehouse.recorder._now = lambda: datetime.now(UTC) - timedelta(days=1)
    seen: list[datetime] = []
    with open_catalog(address) as catalog:
        (meta,) = catalog.get_all()
        plain = shared._warehouse.catalog.start_refresh

        def start(record: object) -> None:
            lease = catalog.get_lease(meta.id)
            assert lease is not None
            seen.append(lease.expires_at)
            plain(record)  # type: ignore[arg-type]

        shared._warehouse.catalog.start_refresh = start  # type: ignore[method-assign]
        shared.refresh("copied")
        assert seen
        assert seen[0] > catalog.now() - timedelta(minutes=1)


def test_the_environment_names_the_catalog(
    spark: SparkSession, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CATALOG", address)
    with warehouse(spark, tmp_path) as opened:
        assert opened.status() == []
    assert not (tmp_path / CATALOG_FILE).exists()


def test_an_address_that_cannot_be_used_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(CatalogUnusable, match="Give a path"):
        penstock.open(tmp_path, catalog="mysql://ann:secret@host/shop")
