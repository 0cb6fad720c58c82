"""Ctrl-C ends a statement of the prompt, and a command; Spark's jobs end with it, and nothing is lost."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import penstock
from penstock.catalog.model import RefreshStatus, Status

pytestmark = [pytest.mark.slow, pytest.mark.jvm, pytest.mark.process]

ENDLESS = "SELECT sum(a.id * b.id % 7) AS s FROM range(3000000) a CROSS JOIN range(3000000) b"
PENSTOCK = [sys.executable, "-m", "penstock.cli.main"]
PATIENCE = 180


class Terminal:
    """A process at a terminal of its own."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "120"})
        self.said = ""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def _listen(self, seconds: float) -> None:
        if select.select([self._end], [], [], seconds)[0]:
            self.said += os.read(self._end, 65536).decode(errors="replace")

    def wait_for(self, words: str) -> str:
        """What is said up to some words, which are taken away."""
        deadline = time.monotonic() + PATIENCE
        while (found := re.search(words, self.said)) is None:
            assert time.monotonic() < deadline, self.said
            self._listen(1)
        before, self.said = self.said[: found.end()], self.said[found.end() :]
        return before

    def interrupt_input(self) -> None:
        """Press Ctrl-C until there is a new prompt: readline shows a prompt a moment before it listens."""
        deadline = time.monotonic() + PATIENCE
        pressed = 0.0
        while "penstock> " not in self.said:
            assert time.monotonic() < deadline, self.said
            if time.monotonic() > pressed + 3:
                self.type("\x03")
                pressed = time.monotonic()
            self._listen(1)
        self.wait_for("penstock> ")

    def wait_for_a_job(self) -> None:
        """Spark has begun: the spinner has turned for a while."""
        time.sleep(6)

    def end(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    script = (
        "CREATE TABLE orders (id BIGINT); INSERT INTO orders SELECT id FROM range(3);"
        "CREATE STREAM TABLE counted AS SELECT count(*) AS n FROM orders;"
        "CREATE STREAM TABLE heavy REFRESH MODE FULL INITIALIZE ON SCHEDULE AS"
        " SELECT sum(o.id * a.id * b.id % 7) AS s FROM orders o, range(3000000) a, range(3000000) b"
    )
    subprocess.run([*PENSTOCK, "init", str(folder)], check=True, timeout=PATIENCE)
    subprocess.run([*PENSTOCK, "sql", script, "-w", str(folder)], check=True, timeout=PATIENCE)
    return folder


def test_at_the_prompt_it_ends_the_statement_and_the_next_one_runs(folder: Path) -> None:
    terminal = Terminal([*PENSTOCK, "sql", "-w", str(folder)])
    terminal.wait_for("penstock> ")
    for statement in (ENDLESS, "REFRESH STREAM TABLE heavy", f"INSERT INTO orders {ENDLESS}"):
        terminal.type(f"{statement};\n")
        terminal.wait_for_a_job()
        terminal.type("\x03")
        told = terminal.wait_for("penstock> ")
        assert told.count("interrupted") == 1
        assert "Traceback" not in told
        assert "error" not in told.lower()
    terminal.type("SELECT\n")
    terminal.wait_for(r"\.\.\.> ")
    terminal.interrupt_input()
    terminal.type("REFRESH STREAM TABLE counted; SELECT n FROM counted;\n")
    terminal.wait_for("1 row")
    assert re.search(r"^\s*3\s*$", terminal.wait_for("1 row"), re.M)
    terminal.type("quit\n")
    assert terminal.end() == 0
    _assert_well(folder)


def test_a_refresh_ends_with_130(folder: Path) -> None:
    def is_at_work() -> bool:
        with penstock.open_lazily(folder) as ps:
            return any(each.status is RefreshStatus.RUNNING for each in ps.history("heavy"))

    assert _interrupted(["refresh", "heavy", "-w", str(folder)], is_at_work) == (130, "interrupted\n")
    _assert_well(folder)


def test_a_command_ends_with_130_while_spark_starts(folder: Path) -> None:
    log = folder / "logs" / "jvm.log"
    log.unlink()
    assert _interrupted(["refresh", "counted", "-w", str(folder)], log.exists) == (130, "interrupted\n")
    _assert_well(folder)


def _interrupted(arguments: list[str], is_time: Callable[[], bool]) -> tuple[int, str]:
    """Exit code and standard error of a command that gets SIGINT when it is time; its JVM ends with it."""
    process = subprocess.Popen([*PENSTOCK, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + PATIENCE
    while not is_time():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.2)
    [jvm] = _children(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert select.select([jvm], [], [], PATIENCE)[0], "its JVM is still there"
    os.close(jvm)
    return process.returncode, said


def _children(pid: int) -> list[int]:
    """A handle of every process that a process has started; it can be read once that process has ended."""
    lists = [each.read_text().split() for each in Path("/proc", str(pid), "task").glob("*/children")]
    return [os.pidfd_open(int(number)) for numbers in lists for number in numbers]


def _assert_well(folder: Path) -> None:
    """No lease is held, nothing is counted against a table, and history says what happened."""
    with penstock.open_lazily(folder) as ps:
        for meta in ps._warehouse.catalog.get_all():
            assert meta.status in (Status.ACTIVE, Status.INITIALIZING)
            assert meta.consecutive_errors == 0
            assert meta.last_error is None
            lease = ps._warehouse.catalog.acquire_lease(meta.id, "test", timedelta(minutes=1), now=ps._warehouse.now())
            ps._warehouse.catalog.release_lease(lease)
        assert all(each.status is not RefreshStatus.RUNNING for each in ps.history(max_rows=100))
        stopped = [each for each in ps.history("heavy") if each.reason is not None and "INTERRUPTED" in each.reason]
        assert len(stopped) == len(ps.history("heavy"))
