"""What errors and messages tell people to write can be written: statements parse, commands and options exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest
import typer

import penstock
from penstock.cli.app import app
from penstock.cli.context.options import Lag
from penstock.errors import InvalidTargetLag
from penstock.graph.lag import parse_target_lag, suggested_lags
from penstock.lang import PassThrough, parse
from penstock.settings import Settings

SOURCE = Path(penstock.__file__).parent
LAG_HELP = str(get_args(Lag)[1].help)
ROOT = Path(__file__).parents[2]
_VERBS = "CREATE|ALTER|DROP|REFRESH|SHOW|DESCRIBE|EXPLAIN|AUDIT|OPTIMIZE"
_TAIL = r"(?: (?:[A-Z]+|x|…|name|query|'[^']+'))+"
STATEMENT = re.compile(rf"\b(?:{_VERBS})(?: [A-Z]+)* STREAM (?:TABLES|TABLE{_TAIL})")
COMMAND = re.compile(r"(?<![\w.:/-])penstock ([a-z]+)((?: (?:--?[a-z][a-z-]*|[A-Z]+|x)\b)*)")
NOTES = {"configuration", "layout", "catalog", "x"}
"""What Penstock calls things that it writes for itself, and its version; nobody is told to type that."""


def texts() -> Iterator[tuple[str, str]]:
    """Every text in the source that is no docstring, with x where something is filled in, and where it stands."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        for node in ast.walk(tree):
            where = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.JoinedStr):
                yield where, "".join(str(each.value) if isinstance(each, ast.Constant) else "x" for each in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented | parts:
                yield where, re.sub(r"\{\w+\}", "x", node.value)


# Grammars are read by the tests of the parser.
TOLD = [text for where, text in texts() if "readers/" not in where]
STATEMENTS = sorted({match[0] for text in TOLD for match in STATEMENT.finditer(text)})
COMMANDS = sorted({(match[1], match[2]) for text in TOLD for match in COMMAND.finditer(text)})


def test_texts_that_tell_what_to_write_are_found() -> None:
    assert "DROP STREAM TABLE x CASCADE" in STATEMENTS
    assert ("subscriptions", " --drop x") in COMMANDS


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_that_people_are_told_to_write_is_one(statement: str) -> None:
    filled = statement.replace("'…'", "'1 hour'").replace("TABLE …", "TABLE x").replace(" name", " x")
    filled = filled.replace("SET …", "SET REFRESH MODE FULL")
    filled = re.sub(r"\bAS (?:…|query|SELECT …)", "AS SELECT 1 AS a", filled)
    (parsed,) = parse(filled)
    assert not isinstance(parsed, PassThrough)


@pytest.mark.parametrize(("command", "rest"), [each for each in COMMANDS if each[0] not in NOTES])
def test_a_command_that_people_are_told_to_run_is_one(command: str, rest: str) -> None:
    commands = typer.main.get_group(app).commands
    # What is filled in may follow a name at once.
    known = commands.get(command) or commands[command.removesuffix("x")]
    options = {name for parameter in known.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in rest.split() if word.startswith("-")} <= options | {"-h", "--help"}


@pytest.mark.parametrize("seconds", [1, 30, 60, 61, 300, 3600, 86_400])
def test_a_suggested_target_lag_is_accepted(seconds: int) -> None:
    minimum = timedelta(seconds=seconds)
    for value in ["", "soon", "0 seconds", "-1 hour", "1 fortnight", "900000 weeks", 7, timedelta(microseconds=1)]:
        with pytest.raises(InvalidTargetLag) as refused:
            parse_target_lag(value, minimum)  # type: ignore[arg-type]
        suggested = re.findall("'([^']+)'", refused.value.advice)
        assert suggested == suggested_lags(minimum)
        assert len(suggested) >= 2
        for lag in suggested:
            assert (parse_target_lag(lag, minimum) or minimum) >= minimum


def test_every_documented_target_lag_is_accepted_by_default() -> None:
    minimum = timedelta(seconds=Settings().min_target_lag_seconds)
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.py")]
    told = "\n".join(page.read_text("utf-8") for page in pages)
    _, _, table = (ROOT / "docs" / "reference" / "sql.md").read_text("utf-8").partition("## Durations")
    found = re.findall(r"(?i)TARGET LAG '([^'…{]+)'", told)
    found += re.findall(r"""(?:--lag |target_lag=)["']([^"'{]+)["']""", told)
    found += re.findall(r"`'([^']+)'`", table)
    found += re.findall(r"'([^']+)'", LAG_HELP)
    assert len(set(found)) >= 5
    for lag in set(found):
        parse_target_lag(lag, minimum)
