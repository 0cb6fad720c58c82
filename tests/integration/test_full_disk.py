"""No room left under a running scheduler: nothing is damaged, and work goes on by itself when there is room again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scheduled import scheduled, until
from workers import Nursery

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.process]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of sixteen megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs the rights of root; the test of file sizes needs none")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(nursery: Nursery, small_disk: Path, tmp_path: Path) -> None:
    # The sources lie elsewhere: they go on, while storage and catalog have no room.
    with scheduled(nursery, small_disk / "warehouse", "full_disk", tables=tmp_path / "tables") as shop:
        worker = shop.scheduler()
        shop.writers.work()
        until(lambda: shop.history(owner=worker.ask("owner"), status="COMPLETED"), "it works")
        ballast = small_disk / "ballast"
        with pytest.raises(OSError, match="No space left"):
            ballast.write_bytes(b"\0" * 32 * 1024**2)
        before = shop.writers.commits
        until(lambda: shop.writers.commits > before + 15, "writers have gone on")
        assert not shop.witness.is_level()
        ballast.unlink()
        shop.writers.rest()
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()
        assert {shop.status(name) for name in shop.names} == {"ACTIVE"}


def test_files_that_cannot_grow(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "cramped") as shop:
        worker = shop.scheduler()
        shop.writers.work()
        until(lambda: shop.history(owner=worker.ask("owner"), status="COMPLETED"), "it works")
        worker.ask("cramp", size=512)
        before = shop.writers.commits
        until(lambda: shop.writers.commits > before + 15, "writers have gone on")
        assert not shop.witness.is_level()
        worker.ask("cramp", size=None)
        shop.writers.rest()
        shop.await_level()
        assert worker.ask("stop") == []
        shop.assert_well()
        assert {shop.status(name) for name in shop.names} == {"ACTIVE"}
