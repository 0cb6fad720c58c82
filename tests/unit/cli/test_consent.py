"""What removes or rebuilds asks on a terminal; anywhere else it needs `--yes`, and without it nothing is done."""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest
import typer
from fake_tables import FakeTables, fake_openers, recorded
from typer.testing import CliRunner

from penstock.api import StatementResult
from penstock.cli.app import app
from penstock.cli.context.command_context import Openers
from penstock.errors import HasReaders
from penstock.refresh.result import Report

REMOVING_OR_REBUILDING = [
    ["drop", "other"],
    ["drop", "revenue", "--cascade"],
    ["create", "revenue", "SELECT 1 AS a", "--or-replace"],
    ["create", "Default.REVENUE", "SELECT 1 AS a", "--or-replace"],
    ["alter", "revenue", "--query", "SELECT 1 AS a"],
    ["subscriptions", "--drop", "mailer"],
    ["repair"],
]


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "penstock.toml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sick(tables: FakeTables) -> Openers:
    """With a catalog that is broken, so that `repair` has something to replace."""
    return fake_openers(tables, healthy=False)


def changes(tables: FakeTables) -> list[str]:
    return [call for call, _, _ in tables.calls if call != "status"]


def cascades(tables: FakeTables) -> list[bool]:
    return [options["cascade"] for call, _, options in tables.calls if call != "status"]


@contextmanager
def terminal(answer: str, shown: list[str]) -> Iterator[None]:
    """Standard input and output are a terminal, on which an answer has been typed ahead."""
    near, far = pty.openpty()
    os.write(near, answer.encode())
    with (
        os.fdopen(far, "r") as stdin,
        os.fdopen(os.dup(far), "w") as stdout,
        patch("sys.stdin", stdin),
        patch("sys.stdout", stdout),
    ):
        yield
    with os.fdopen(near, "rb", buffering=0) as screen, suppress(OSError):
        # Once nobody holds the other end, the end of what was shown is an error.
        while piece := screen.read(4096):
            shown.append(piece.decode())


def on_terminal(answer: str, arguments: list[str]) -> tuple[FakeTables, str]:
    """A command run on a terminal, and what that showed."""
    tables, shown = FakeTables(), list[str]()
    with terminal(answer, shown), suppress(typer.Abort):
        app(arguments, obj=sick(tables), standalone_mode=False)
    return tables, "".join(shown)


@pytest.mark.parametrize("arguments", REMOVING_OR_REBUILDING, ids=" ".join)
def test_without_a_terminal_nothing_is_done_unless_yes_is_given(warehouse: Path, arguments: list[str]) -> None:
    for answer in (None, "n\n", "y\n"):
        tables = FakeTables()
        refused = CliRunner().invoke(app, arguments, obj=sick(tables), input=answer)
        assert refused.exit_code == 2
        assert "NOT_CONFIRMED" in refused.stderr
        assert "--yes" in refused.stderr
        assert not changes(tables)
    tables = FakeTables()
    assert CliRunner().invoke(app, [*arguments, "--yes"], obj=sick(tables)).exit_code == 0
    assert len(changes(tables)) == 1


@pytest.mark.parametrize("arguments", REMOVING_OR_REBUILDING, ids=" ".join)
def test_json_needs_yes_on_a_terminal_too(warehouse: Path, arguments: list[str]) -> None:
    tables, shown = on_terminal("y\n", [*arguments, "--json"])
    # What was typed ahead may be echoed before the document or after it.
    document, _ = json.JSONDecoder().raw_decode(shown[shown.index("{") :])
    assert document["error"]["condition"] == "NOT_CONFIRMED"
    assert not changes(tables)


@pytest.mark.parametrize("arguments", REMOVING_OR_REBUILDING, ids=" ".join)
def test_a_terminal_is_asked(warehouse: Path, arguments: list[str]) -> None:
    refused, shown = on_terminal("n\n", arguments)
    assert "? [y/N]" in shown
    assert not changes(refused)
    agreed, _ = on_terminal("y\n", arguments)
    assert len(changes(agreed)) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["create", "revenue", "SELECT 1 AS narrow", "--or-replace"],
        ["alter", "revenue", "--query", "SELECT 1 AS narrow"],
    ],
    ids=" ".join,
)
def test_readers_that_would_break_are_a_question_of_their_own(warehouse: Path, arguments: list[str]) -> None:
    tables, shown = on_terminal("y\nn\n", arguments)
    assert "default.top (it uses region). Do it anyway? [y/N]" in shown
    assert cascades(tables) == [False]
    agreed, shown = on_terminal("y\ny\n", arguments)
    assert cascades(agreed) == [False, True]
    assert "replaced, 5,001 rows rebuilt, column x added" in shown
    tables = FakeTables()
    assert CliRunner().invoke(app, [*arguments, "--yes"], obj=sick(tables)).exit_code == 0
    assert cascades(tables) == [True]


def test_a_question_that_nobody_can_see_is_not_asked(warehouse: Path) -> None:
    tables = FakeTables()
    with (warehouse / "log").open("w") as log, terminal("y\n", []), patch("sys.stdout", log):
        assert app(["drop", "other"], obj=sick(tables), standalone_mode=False) == 2
    assert not changes(tables)


def test_where_standard_input_is_closed_nobody_can_be_asked(warehouse: Path) -> None:
    tables = FakeTables()
    with patch("sys.stdin", None):
        assert app(["drop", "other"], obj=sick(tables), standalone_mode=False) == 2
    assert not changes(tables)


class Read(FakeTables):
    """A warehouse in which stream tables read what is to be dropped."""

    @recorded
    def sql(self, text: str, *, yes: bool = False, progress: Report | None = None) -> StatementResult:
        if not yes:
            raise HasReaders(statement=text, sources="shop.orders", readers="shop.revenue")
        return StatementResult("nothing", (), ())


def test_a_source_that_is_read_is_dropped_with_yes_or_after_a_question(warehouse: Path) -> None:
    drops = ["sql", "DROP TABLE orders"]
    for more in ([], ["--json"]):
        tables = Read()
        refused = CliRunner().invoke(app, [*drops, *more], obj=fake_openers(tables), input="y\n")
        assert refused.exit_code == 1
        assert "HAS_READERS" in refused.output
        assert "would take shop.orders from shop.revenue" in refused.output
    for arguments, answer, said in (
        ([*drops, "--yes"], "", [True]),
        (drops, "y\n", [False, True]),
        (drops, "n\n", [False]),
    ):
        tables, shown = Read(), list[str]()
        with terminal(answer, shown):
            app(arguments, obj=fake_openers(tables), standalone_mode=False)
        assert [keywords.get("yes", False) for _, _, keywords in tables.calls] == said
        assert ("Do it anyway? [y/N]" in "".join(shown)) == bool(answer)


@pytest.mark.parametrize(
    "arguments",
    [
        ["create", "fresh", "SELECT 1 AS a", "--or-replace"],
        ["create", "fresh", "SELECT 1 AS a"],
        ["alter", "revenue", "--lag", "5m"],
        ["alter", "revenue", "--suspend"],
        ["refresh", "top"],
        ["optimize"],
        ["repair"],
        ["sql", "-e", "DROP STREAM TABLE revenue"],
    ],
    ids=" ".join,
)
def test_what_removes_nothing_and_what_is_written_in_sql_is_not_asked(warehouse: Path, arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments, obj=fake_openers(FakeTables())).exit_code == 0
