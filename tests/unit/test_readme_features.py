"""The README's feature table names only what exists."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from penstock.cli.app import app
from penstock.compile.reasons import REASONS

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
_CODE = re.compile(r"`([^`]+)`")

FEATURES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in README.split("| Construct |")[1].split("\n\n")[0].splitlines()[2:]
]


def test_there_is_a_table() -> None:
    assert len(FEATURES) > 15


def test_a_row_is_maintained_by_a_file_or_refused_for_a_reason() -> None:
    for construct, maintained, by, reason in FEATURES:
        if maintained.startswith("INCREMENTAL"):
            files = _CODE.findall(by)
            assert files, construct
            assert not reason, construct
            assert all((ROOT / "src" / "penstock" / file).is_file() for file in files), construct
        else:
            assert maintained == "FULL", construct
            assert not by, construct
            assert _CODE.findall(reason), construct
            assert all(code in REASONS for code in _CODE.findall(reason)), construct


def test_every_refusal_of_the_matrix_has_its_code_here_or_is_rare() -> None:
    matrix = (ROOT / "docs" / "reference" / "operators.md").read_text(encoding="utf-8")
    refused = set(re.findall(r"FULL `(\w+)`", matrix))
    here = {code for *_, reason in FEATURES for code in _CODE.findall(reason)}
    rare = {"ROUND_TRIP", "NOT_COMPARABLE", "COLLATION"}
    assert refused - rare <= here
    # What has a rule by now must not be called FULL any more.
    assert here - refused <= {"UDF"}


def test_every_command_named_exists() -> None:
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`penstock (\w+)", README))
    assert named <= commands
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+) ", README)) - {"it"} <= targets
