"""Old history goes once an hour, and not before; a paused catalog is left as it is."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.api import open_lazily
from penstock.catalog import Action, RefreshRecord, RefreshStatus, StreamTableMeta
from penstock.graph.side_by_side import plain_thread
from penstock.names import TableName
from penstock.schedule import upkeep as upkeep_module
from penstock.schedule.upkeep import PRUNE_EVERY, Upkeep
from penstock.testing.clock import FakeStopwatch


def test_history_is_pruned_once_an_hour(tmp_path: Path) -> None:
    with open_lazily(tmp_path) as tables:
        warehouse, stopwatch = tables._warehouse, FakeStopwatch()
        catalog, now = warehouse.catalog, warehouse.now()
        upkeep = Upkeep(warehouse, plain_thread, stopwatch)
        meta = StreamTableMeta(name=TableName.parse("t"), table_id="t", path="", query="", definition_hash="")
        number = catalog.insert(meta, [], now=now)
        kept = timedelta(days=warehouse.settings.history_keep_days)
        for at, age in enumerate((kept + timedelta(days=1), kept - timedelta(days=1))):
            catalog.record_refresh(
                RefreshRecord(
                    refresh_id=f"{at:032x}",
                    stream_table_id=number,
                    name="default.t",
                    action=Action.FULL,
                    status=RefreshStatus.COMPLETED,
                    started_at=now - age,
                    ended_at=now - age,
                )
            )
        stopwatch.seconds = PRUNE_EVERY - 1
        upkeep.prune()
        assert len(catalog.recent_history()) == 2
        stopwatch.seconds = PRUNE_EVERY
        upkeep.prune()
        assert [each.refresh_id for each in catalog.recent_history()] == [f"{1:032x}"]


def test_while_paused_no_table_is_laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def advise_one(warehouse: object, meta: StreamTableMeta) -> object:
        looked.append(str(meta.name))
        return SimpleNamespace(needed=False, layout=SimpleNamespace(bytes=0))

    monkeypatch.setattr(upkeep_module, "advise_one", advise_one)
    monkeypatch.setattr(upkeep_module, "REFRESHES", 0)
    with open_lazily(tmp_path) as tables:
        upkeep = Upkeep(tables._warehouse, plain_thread, FakeStopwatch())
        meta = StreamTableMeta(name=TableName.parse("t"), table_id="t", path="", query="", definition_hash="")
        tables._warehouse.catalog.insert(meta, [], now=tables._warehouse.now())
        tables.pause()
        upkeep.lay_out()
        assert looked == []
        tables.resume()
        upkeep.lay_out()
        assert looked == ["default.t"]
