"""The README names only what exists.

Its table of operators is generated from the operator matrix; tests/unit/docs compares the two.
"""

from __future__ import annotations

import re
from pathlib import Path

from generate.readme_operators import END, START
from typer.main import get_command

from penstock.cli.app import app
from penstock.compile.reasons import REASONS

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SUMMARY = README.split(START)[1].split(END)[0]
MATRIX = (ROOT / "docs" / "reference" / "operators.md").read_text(encoding="utf-8")


def test_the_summary_has_every_case_of_the_matrix() -> None:
    cases = len(re.findall(r"\| (?:INCREMENTAL|FULL `\w+`) \|", MATRIX))
    rows = [line.strip("|").split("|") for line in SUMMARY.splitlines()[2:]]
    assert cases > 80
    assert sum(len(cell.split(" · ")) for row in rows for cell in row[1:] if cell.strip()) == cases


def test_every_reason_code_is_one() -> None:
    codes = set(re.findall(r": `([A-Z_]+)`", SUMMARY))
    assert codes == set(re.findall(r"FULL `(\w+)`", MATRIX))
    assert codes <= set(REASONS)


def test_every_command_named_exists() -> None:
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`penstock (\w+)", README))
    assert named <= commands
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+) ", README)) - {"it"} <= targets
