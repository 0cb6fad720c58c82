"""A log entry that cannot be read: its table says which one, all others go on; once mended, it goes on too."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from scheduled import Scheduled, scheduled, until
from workers import Nursery

pytestmark = [pytest.mark.kill, pytest.mark.slow]


def _newest_entry(table: Path) -> Path:
    return table / "_delta_log" / f"{DeltaTable(table).version():020d}.json"


def _errors(shop: Scheduled, name: str) -> str:
    failed = [each for each in shop.history(status="FAILED") if each.name.endswith(f".{name}")]
    return failed[0].error_message or "" if failed else ""


def _resume_stopped(shop: Scheduled) -> None:
    """What a person does who has mended something."""
    mender = shop.worker()
    for name in shop.names:
        if shop.status(name) in {"SUSPENDED", "ERROR"}:
            mender.ask("sql", text=f"ALTER STREAM TABLE {name} RESUME")
    mender.end()


def test_a_broken_entry_of_a_source(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "broken_source") as shop:
        # Written again, half: so it is when a disk or a copy went wrong.
        DeltaTable(shop.bases["orders"]).delete("id = 4")
        entry = _newest_entry(shop.bases["orders"])
        whole = entry.read_text()
        entry.write_text(whole[: len(whole) // 2])
        worker = shop.scheduler(max_consecutive_errors=1000)
        until(lambda: entry.name in _errors(shop, "totals"), "the error names it")
        DeltaTable(shop.bases["events"]).delete("k = 1")
        newest = DeltaTable(shop.bases["events"]).version()
        until(lambda: _shows(shop, "pairs", newest), "another table goes on")
        entry.write_text(whole)
        _resume_stopped(shop)
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()


def test_a_broken_entry_of_a_storage(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "broken_storage") as shop:
        (storage,) = (shop.folder / "stream_tables" / shop.schema).glob("highest-*")
        entry = _newest_entry(storage)
        whole = entry.read_text()
        entry.write_text(whole[: len(whole) // 2])
        worker = shop.scheduler(max_consecutive_errors=1000)
        DeltaTable(shop.bases["orders"]).delete("id = 3")
        until(lambda: storage.name in _errors(shop, "highest"), "the error names it")
        DeltaTable(shop.bases["events"]).delete("k = 1")
        newest = DeltaTable(shop.bases["events"]).version()
        until(lambda: _shows(shop, "pairs", newest), "another table goes on")
        entry.write_text(whole)
        _resume_stopped(shop)
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()


def _shows(shop: Scheduled, name: str, version: int) -> bool:
    meta = next(each for each in shop.catalog.get_all() if each.name.table == name)
    return meta.frontier is not None and version in {held.version for held in meta.frontier.sources.values()}
