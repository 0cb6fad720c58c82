"""Pause and resume of a catalog, suspend and resume of a table, under a running scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from scheduled import Scheduled, scheduled, until
from workers import Nursery

pytestmark = pytest.mark.kill


def _versions(shop: Scheduled, name: str) -> object:
    return next(each.frontier.sources for each in shop.catalog.get_all() if each.name.table == name and each.frontier)


def _await_commits(shop: Scheduled, number: int = 8) -> None:
    before = shop.writers.commits
    until(lambda: shop.writers.commits > before + number, "writers have gone on")


def _stands_still(shop: Scheduled) -> bool:
    before = {name: _versions(shop, name) for name in shop.names}
    _await_commits(shop, 2)
    return {name: _versions(shop, name) for name in shop.names} == before


def test_pause_and_suspend_hold_under_load_and_end_cleanly(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "pausing") as shop:
        worker = shop.scheduler()
        shop.writers.work()
        until(lambda: shop.history(owner=worker.ask("owner"), status="COMPLETED"), "it works")

        shop.catalog.set_paused(True)
        until(lambda: not shop.history(status="RUNNING") and not worker.ask("leads")[2], "what ran has ended")
        # A look that began before the pause may still set out.
        until(lambda: _stands_still(shop), "nothing is started any more")
        held = {name: _versions(shop, name) for name in shop.names}
        _await_commits(shop)
        assert {name: _versions(shop, name) for name in shop.names} == held
        shop.catalog.set_paused(False)
        until(lambda: _versions(shop, "totals") != held["totals"], "it goes on")

        worker.ask("sql", text="ALTER STREAM TABLE highest SUSPEND")
        until(lambda: not any(each.name.endswith("highest") for each in shop.history(status="RUNNING")), "it has ended")
        held = {name: _versions(shop, name) for name in shop.names}
        orders = DeltaTable(shop.bases["orders"]).version()
        _await_commits(shop)
        until(lambda: _versions(shop, "totals") != held["totals"], "the others go on")
        assert DeltaTable(shop.bases["orders"]).version() > orders
        assert _versions(shop, "highest") == held["highest"]
        # Its consumer waits where it is, and never shows one side without the other.
        shop.assert_well()
        worker.ask("sql", text="ALTER STREAM TABLE highest RESUME")
        shop.writers.rest()
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()
