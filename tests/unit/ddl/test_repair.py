"""Repairing a catalog while others work with it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from penstock.api import open_lazily
from penstock.catalog import Action, RefreshRecord, RefreshStatus, StreamTableMeta
from penstock.ddl import repair as repairing
from penstock.names import TableName

OTHER = "elsewhere:1:abc"


def test_a_refresh_at_work_is_not_closed_by_a_machine_whose_clock_is_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is there to be put back, so Spark is not needed.
    monkeypatch.setattr(repairing, "_register", lambda warehouse, tables: None)
    with open_lazily(tmp_path) as tables:
        warehouse = tables._warehouse
        catalog, now = warehouse.catalog, warehouse.catalog.now()
        meta = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="")
        number = catalog.insert(meta, [], now=now)
        lease = catalog.acquire_lease(number, OTHER, timedelta(minutes=1), now=now)
        catalog.start_refresh(
            RefreshRecord(
                refresh_id="r",
                stream_table_id=number,
                name="default.a",
                action=Action.FULL,
                status=RefreshStatus.RUNNING,
                started_at=now,
                owner=OTHER,
                lease_token=lease.token,
            )
        )
        warehouse.now = lambda: now + timedelta(days=1)
        assert repairing.rebuild(warehouse).lines == ("nothing to repair",)
        catalog.release_lease(lease)
        assert repairing.rebuild(warehouse).lines == ("refresh r: closed, its worker is gone",)


def test_what_is_gone_names_every_kind_of_plain_table_that_is_not_looked_for() -> None:
    told = " ".join(repairing.GONE)
    assert f"outside of {repairing.TABLES_FOLDER}/" in told
    assert "not Delta" in told
