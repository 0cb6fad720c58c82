"""A warehouse that this user may not write to can be looked at; whoever would change it is told so in one line."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import get, sales
from typer.testing import CliRunner

from penstock.api import open_lazily
from penstock.catalog.model import Action, RefreshRecord, RefreshStatus
from penstock.cli.app import app
from penstock.errors import PenstockError
from penstock.serve.server import Server
from penstock.testing.published import Published

pytestmark = [pytest.mark.jvm, pytest.mark.process]

NOBODY = 65534
LOOKS = ("status", "history", "info", "stats", "graph", "alerts", "health", "subscriptions", "versions sales")
SUBSCRIBE = "subscribe sales --start snapshot -n 1 --json"
CHANGES = ("repair", "refresh sales", "pause", "resume", "subscribe sales --durable mailer --start snapshot -n 1")


@pytest.fixture
def place() -> Iterator[Path]:
    """Where another user can go, as to pytest's own folders he cannot."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def withdraw(warehouse: Path) -> None:
    for each in (warehouse, *warehouse.rglob("*")):
        each.chmod(stat.S_IMODE(each.stat().st_mode) & ~0o222 | 0o444)


def give_back(warehouse: Path) -> None:
    for each in (warehouse, *warehouse.rglob("*")):
        each.chmod(stat.S_IMODE(each.stat().st_mode) | 0o200)


def content(warehouse: Path) -> dict[str, bytes]:
    # The index of the write-ahead log is where readers note what they read.
    return {str(each): each.read_bytes() for each in warehouse.rglob("*") if each.is_file() and each.suffix != "-shm"}


@pytest.mark.parametrize("written_to", [False, True], ids=["at rest", "written to by another user"])
def test_a_read_only_warehouse_can_be_looked_at(place: Path, written_to: bool) -> None:
    warehouse = place / "warehouse"
    with Published.open(warehouse) as world:
        table = sales(world)
        catalog = world.tables._warehouse.catalog
        [meta] = catalog.get_all()
        catalog.record_refresh(
            RefreshRecord(
                refresh_id="r",
                stream_table_id=meta.id,
                name=table.name,
                action=Action.SKIP,
                status=RefreshStatus.SKIPPED,
                started_at=catalog.now(),
                ended_at=catalog.now(),
            )
        )
        world.tables.all_changes().catch_up()
        shutil.copytree(warehouse, place / "copy")
        if written_to:
            told = _told_by_nobody(place)
    if not written_to:
        told = _told_by_nobody(place)
    for command in LOOKS:
        code, out = told[command]
        assert code in {0, 1}, (command, out)
        assert "error[" not in out, (command, out)
    assert "default.sales" in told["status"][1]
    assert "SKIP" in told["history"][1]
    assert '"east"' in told[SUBSCRIBE][1]
    assert "schema version" in told["doctor"][1]
    for command in CHANGES:
        code, out = told[command]
        assert (code != 0, "error[READ_ONLY]" in out, out.count("error[")) == (True, True, 1), (command, out)
    assert told["/tables"][0] == 200
    for path in ("/tables/sales/changes", "/changes"):
        status, page = told[path]
        assert (status, [each["lsn"] for each in page["events"]]) == (200, [1, 2, 3, 4]), page
    assert told["unchanged"]


def _told_by_nobody(place: Path) -> dict[str, Any]:
    warehouse = place / "warehouse"
    withdraw(warehouse)
    try:
        child = subprocess.run(
            [sys.executable, __file__, str(place)], capture_output=True, text=True, check=False, env=dict(os.environ)
        )
    finally:
        give_back(warehouse)
    assert child.returncode == 0, child.stderr
    told: dict[str, Any] = json.loads(child.stdout)
    return told


def _run(warehouse: Path, command: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*command.split(), "-w", str(warehouse)])
    return done.exit_code, done.output


def _look(warehouse: Path) -> dict[str, Any]:
    told: dict[str, Any] = {command: _run(warehouse, command) for command in (*LOOKS, "doctor", SUBSCRIBE)}
    with open_lazily(warehouse) as tables, Server(tables) as server:
        for path in ("/tables", "/tables/sales/changes", "/changes"):
            got = get(server.port, path)
            told[path] = got.status, got.json
    return told


def _look_as_nobody(place: Path) -> None:
    # As root first, which reads all modules: those of an interpreter in root's home are out of reach afterwards.
    _look(place / "copy")
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    before = content(place / "warehouse")
    told = _look(place / "warehouse")
    told |= {command: _run(place / "warehouse", command) for command in CHANGES}
    told["unchanged"] = content(place / "warehouse") == before
    print(json.dumps(told))


if __name__ == "__main__":
    try:
        _look_as_nobody(Path(sys.argv[1]))
    except PenstockError as error:
        sys.exit(str(error))
