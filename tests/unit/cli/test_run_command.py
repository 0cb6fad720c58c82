"""`penstock run` and the signals that it obeys; the scheduler is one that never ends by itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

GOLDEN = Path(__file__).parents[2] / "golden" / "cli"
HANGS = """
import sys, threading, time
from types import SimpleNamespace
from fake_tables import FakeTables, fake_openers
from penstock.cli.app import app

class Hanging:
    def __init__(self): self.asked = threading.Event()
    def stop(self): self.asked.set()
    def run(self):
        print("running", flush=True)
        while not self.asked.wait(0.05): pass
        print("asked to stop", flush=True)
        while HANGS: time.sleep(0.05)
        return []

class Tables(FakeTables):
    settings = SimpleNamespace(log_format="text")
    path = "here"
    def scheduler(self): return Hanging()

app(["run", "-w", sys.argv[1]], obj=fake_openers(Tables()))
"""


def started(warehouse: Path, hangs: bool) -> subprocess.Popen[str]:
    (warehouse / "penstock.toml").touch()
    code = f"import sys; sys.path.insert(0, {str(GOLDEN)!r}); HANGS = {hangs}\n{HANGS}"
    process = subprocess.Popen([sys.executable, "-c", code, str(warehouse)], stdout=subprocess.PIPE, text=True)
    until(process, "running")
    return process


def until(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"it ended without saying: {text}")


def test_one_signal_ends_it_in_order(tmp_path: Path) -> None:
    with started(tmp_path, hangs=False) as process:
        process.send_signal(signal.SIGTERM)
        until(process, "nothing was left unfinished")
        assert process.wait(60) == 0


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    with started(tmp_path, hangs=True) as process:
        process.send_signal(signal.SIGINT)
        until(process, "asked to stop")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 1
