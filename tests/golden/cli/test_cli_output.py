"""What the commands print, word by word.

Each file holds commands under `$ `, what they print, and `exit N` (if not 0); stderr follows stdout under `2>`. Run
`make golden` to rewrite them.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from fake_tables import FakeTables, fake_openers
from typer.testing import CliRunner

from penstock.cli.app import app

REWRITE = os.environ.get("PENSTOCK_GOLDEN") == "rewrite" or os.environ.get("REWRITE_GOLDEN") == "1"
FILES = sorted(Path(__file__).parent.glob("*.txt"))
_TOOK = re.compile(r"\([0-9.]+ m?s\)")
"""How long a statement took, which no file can know."""


def transcript(command: str) -> str:
    healthy = "PENSTOCK_SICK" not in command
    arguments = shlex.split(command.removeprefix("PENSTOCK_SICK=1 "))[1:]
    result = CliRunner().invoke(
        app, arguments, obj=fake_openers(FakeTables(healthy), healthy=healthy), prog_name="penstock"
    )
    parts = [f"$ {command}", result.stdout.rstrip("\n")]
    if result.stderr:
        parts.append("2>\n" + result.stderr.rstrip("\n"))
    if result.exit_code:
        parts.append(f"exit {result.exit_code}")
    shown = "\n".join(line.rstrip() for part in parts if part for line in part.split("\n")) + "\n"
    return _TOOK.sub("(…)", shown) if command.startswith("penstock sql") else shown


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_output(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [line[2:] for line in path.read_text("utf-8").splitlines() if line.startswith("$ ")]
    assert commands
    (tmp_path / "penstock.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_WAREHOUSE", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    seen = "\n".join(transcript(command) for command in commands)
    if REWRITE:
        path.write_text(seen, "utf-8")
    assert path.read_text("utf-8") == seen
