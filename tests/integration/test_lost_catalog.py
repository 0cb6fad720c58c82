"""The catalog's file is deleted while a scheduler is stopped, and under a running one."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from scheduled import Scheduled, scheduled, until
from workers import Nursery

from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog

pytestmark = pytest.mark.kill


def _lose(shop: Scheduled) -> None:
    for file in shop.folder.glob(f"{CATALOG_FILE}*"):
        file.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("running", [pytest.param(False, id="stopped"), pytest.param(True, id="running")])
def test_a_catalog_that_was_lost_is_rebuilt_and_work_goes_on(nursery: Nursery, tmp_path: Path, running: bool) -> None:
    with scheduled(nursery, tmp_path / "warehouse", f"lost_{'running' if running else 'stopped'}") as shop:
        worker = shop.scheduler()
        shop.writers.work()
        until(lambda: shop.history(owner=worker.ask("owner"), status="COMPLETED"), "it works")
        if running:
            _lose(shop)
            before = shop.writers.commits
            until(lambda: shop.writers.commits > before + 10, "writers have gone on")
        worker.signal(signal.SIGKILL)
        worker.gone()
        shop.catalog.close()
        if not running:
            _lose(shop)
        mender = shop.worker(mend=True)
        assert sum("restored" in line for line in mender.mended) == len(shop.names), mender.mended
        mender.end()
        shop.catalog = shop.witness.catalog = open_catalog(shop.place)
        shop.assert_well()
        worker = shop.scheduler()
        until(lambda: shop.history(owner=worker.ask("owner"), status="COMPLETED"), "it works again")
        shop.writers.rest()
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()
