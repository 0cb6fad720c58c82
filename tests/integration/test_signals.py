"""`penstock run` as a process: SIGHUP, a JVM that dies under it, SIGTERM."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scheduled import scheduled, until
from workers import Nursery

from kills.runner import SETTINGS
from penstock.catalog.model import RefreshRecord

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.process]


def test_signals_and_a_jvm_that_dies(nursery: Nursery, tmp_path: Path) -> None:
    with scheduled(nursery, tmp_path / "warehouse", "signals") as shop:
        settings, log = shop.folder / "penstock.toml", tmp_path / "run.log"
        lines = "".join(
            f'{name} = "{value}"\n' if isinstance(value, str) else f"{name} = {value}\n"
            for name, value in {**SETTINGS, "log_level": "info"}.items()
        )
        settings.write_text(lines)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "penstock.cli.main", "run", "-w", str(shop.folder)],
                env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            shop.writers.work()
            until(lambda: _done(shop.history(status="COMPLETED"), process.pid), "it works")

            settings.write_text(lines + "enabled = 7\n")
            process.send_signal(signal.SIGHUP)
            until(lambda: "the settings stay as they were" in log.read_text(), "wrong settings are refused")
            before = _done(shop.history(status="COMPLETED"), process.pid)
            until(
                lambda: _done(shop.history(status="COMPLETED"), process.pid) > before, "it goes on under the old ones"
            )

            settings.write_text(lines + "enabled = false\n")
            process.send_signal(signal.SIGHUP)
            until(lambda: not shop.history(status="RUNNING"), "what ran has ended")
            before = shop.writers.commits
            until(lambda: shop.writers.commits > before + 10, "writers have gone on")
            assert not shop.history(status="RUNNING")
            assert not shop.witness.is_level()
            settings.write_text(lines)
            process.send_signal(signal.SIGHUP)
            until(lambda: shop.history(status="RUNNING"), "it works again")

            os.kill(_jvm(process.pid), signal.SIGKILL)
            until(lambda: "starting anew" in log.read_text(), "it has noticed")
            until(lambda: len(set(_owners(shop.history(status="COMPLETED"), process.pid))) == 2, "it works anew")
            assert process.poll() is None
            shop.assert_well()

            until(lambda: shop.history(status="RUNNING"), "it is in the middle of a refresh")
            process.send_signal(signal.SIGTERM)
            assert process.wait(90) == 0, log.read_text()[-2000:]
            assert "nothing was left unfinished" in log.read_text()
            assert not shop.history(status="RUNNING")
            shop.writers.rest()
            shop.assert_well()
            assert {shop.status(name) for name in shop.names} == {"ACTIVE"}
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)


def _owners(history: list[RefreshRecord], pid: int) -> list[str]:
    owners = [str(each.owner) for each in history]
    return [owner for owner in owners if f":{pid}:" in owner]


def _done(history: list[RefreshRecord], pid: int) -> int:
    return len(_owners(history, pid))


def _jvm(pid: int) -> int:
    """The JVM that a process has started."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (entry / "status").read_text(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if re.search(rf"^PPid:\s+{pid}$", status, re.M) and b"java" in command.split(b"\0")[0]:
            return int(entry.name)
    raise AssertionError(f"process {pid} has no JVM")
