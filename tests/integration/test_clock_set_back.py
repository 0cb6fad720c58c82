"""The wall clock is set back by an hour under a running scheduler: it goes on, and no moment moves back."""

from __future__ import annotations

from pathlib import Path

import pytest
from scheduled import scheduled, until
from workers import Nursery

pytestmark = [pytest.mark.kill, pytest.mark.slow]


def test_a_clock_that_is_set_back(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "set_back") as shop:
        worker = shop.scheduler()
        owner = worker.ask("owner")
        shop.writers.work()
        until(lambda: shop.history(owner=owner, status="COMPLETED"), "it works")
        worker.ask("set_clock_back", seconds=3600)
        stamps = {meta.name.table: meta.data_timestamp for meta in shop.catalog.get_all()}
        before = shop.writers.commits
        until(lambda: shop.writers.commits > before + 10, "writers have gone on")
        shop.writers.rest()
        # Much sooner than in the hour that it would take the clock to catch up.
        shop.await_level()
        for meta in shop.catalog.get_all():
            assert meta.data_timestamp is not None
            assert meta.data_timestamp > stamps[meta.name.table]  # type: ignore[operator]
        shop.assert_well()
        # The same when the process starts while the clock is behind.
        assert worker.ask("stop") == []
        worker.end()
        worker = shop.worker()
        worker.ask("set_clock_back", seconds=7200)
        worker.ask("run")
        shop.writers.work()
        until(lambda: shop.history(owner=worker.ask("owner"), status="COMPLETED"), "it works")
        shop.writers.rest()
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()
