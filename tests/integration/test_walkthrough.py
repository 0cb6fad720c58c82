"""The walk-through of changes: its commands in real processes side by side, its Python here, its output as printed."""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.jvm, pytest.mark.process]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "walkthrough-changes.md"
WAIT = 300.0
_PIECE = re.compile(r"\*\*[Tt]erminal (A|B)\*\*|(Ctrl-C)|^```(bash|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(\+00:00)?")


class Terminal:
    """A shell command that goes on while the page does."""

    def __init__(self, command: str, folder: Path) -> None:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "NO_COLOR": "1",
            # The JVM of the tests is there beside it.
            "PENSTOCK_DRIVER_MEMORY": "1g",
            # A JVM of a few statements is slowed down by optimising itself.
            "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        self._process = subprocess.Popen(
            ["bash", "-ec", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._heard = ""

    def hear(self, lines: int) -> str:
        """The next lines that say something."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + WAIT
        while len(_plain(self._heard)) < lines:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._process.stdout.fileno(), 65536).decode() if ready else ""
            if not more:
                break
            self._heard += more
        heard, self._heard = self._heard, ""
        return heard

    def interrupt(self) -> None:
        """What Ctrl-C does: the signal goes to all that run in the terminal."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self) -> str:
        """What it still says until its end, which must be a good one."""
        said, _ = self._process.communicate(timeout=WAIT)
        assert self._process.returncode == 0, self._heard + said.decode()
        return self._heard + said.decode()

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def test_the_walk_through_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pieces = list(_PIECE.finditer(PAGE.read_text("utf-8")))
    place, said = "A", ""
    watching: Terminal | None = None
    namespace: dict[str, Any] = {"__name__": "walkthrough"}
    checked = 0
    try:
        for at, piece in enumerate(pieces):
            terminal, stop, language, text = piece.groups()
            place = terminal or place
            if stop and watching is not None:
                watching.interrupt()
                said, watching = watching.end(), None
            elif language == "bash" and place == "B" and watching is None and "--start" in text:
                watching = Terminal(text, tmp_path)
            elif language == "bash":
                said = Terminal(text, tmp_path).end()
            elif language == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(text, str(PAGE), "exec"), namespace)
                said = printed.getvalue()
            elif language == "text":
                if watching is not None:
                    said = watching.hear(len(_plain(text)))
                assert _plain(said) == _plain(text), f"after block {at}: {said}"
                checked += 1
    finally:
        if watching is not None:
            watching.kill()
        if "ps" in namespace:
            namespace["ps"].close()
    assert checked > 8


def _plain(text: str) -> list[str]:
    """The lines that say something, without what the clock says."""
    return [_MOMENT.sub("<moment>", line.rstrip()) for line in text.splitlines() if line.strip()]
