"""Sources that are rewritten, vacuumed and restored, and tables refreshed by hand, while a scheduler runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from scheduled import scheduled, until
from workers import Nursery

pytestmark = [pytest.mark.kill, pytest.mark.slow]


def test_sources_are_optimized_vacuumed_and_restored(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "restored") as shop:
        worker = shop.scheduler()
        shop.writers.work()
        until(lambda: shop.history(owner=worker.ask("owner"), status="COMPLETED"), "it works")
        for back in (1, 3, 6):
            shop.writers.rest()
            for path in shop.bases.values():
                table = DeltaTable(path)
                table.optimize.compact()
                table.vacuum(retention_hours=168, dry_run=False)
                table.restore(max(1, table.version() - back))
            shop.writers.work()
            before = shop.writers.commits
            until(lambda before=before: shop.writers.commits > before + 8, "writers have gone on")  # type: ignore[misc]
        shop.writers.rest()
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()
        assert {shop.status(name) for name in shop.names} == {"ACTIVE"}


def test_the_same_table_by_hand_and_by_the_scheduler(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "by_hand") as shop:
        hand = shop.worker()
        scheduler = shop.worker()
        # Both have compiled the queries by now: two processes at it in one JVM would get each other's callbacks.
        for worker in (hand, scheduler):
            for path in shop.bases.values():
                DeltaTable(path).delete("1 = 1" if worker is hand else "2 = 2")
            for name in shop.names:
                worker.ask("refresh", name=name)
        shop.writers.work()
        scheduler.ask("run")
        for _ in range(4):
            for name in shop.names:
                hand.ask("refresh", name=name)
        shop.assert_well()
        shop.writers.rest()
        shop.await_level()
        assert scheduler.ask("stop") == []
        shop.assert_well()
        assert {shop.status(name) for name in shop.names} == {"ACTIVE"}
