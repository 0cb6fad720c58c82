"""Commands ask the API for the right thing, end with the right code, and never mix JSON with anything else."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fake_tables import NOON, FakeSubscription, FakeTables, fake_openers, idle, recorded, refreshed, revenue_commits
from typer.testing import CliRunner, Result

from penstock.catalog.model import Action
from penstock.cli.app import app
from penstock.cli.commands.sql import prompt
from penstock.cli.context.command_context import CommandContext
from penstock.ddl.repair import RepairReport
from penstock.errors import QueryFailed
from penstock.refresh.result import RefreshResult, Report
from penstock.settings import Settings

COMMANDS = [
    "init", "sql", "create", "alter", "drop", "refresh", "status", "history", "graph", "info", "explain", "audit",
    "doctor", "repair", "tick", "stats", "alerts", "health", "subscribe", "subscriptions",
]  # fmt: skip


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    (tmp_path / "penstock.toml").touch()
    return tmp_path


def run(tables: FakeTables, *arguments: str, stdin: str | None = None, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, arguments, obj=fake_openers(tables), input=stdin, env=env)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_and_json(command: str) -> None:
    text = run(FakeTables(), command, "--help").stdout
    assert f"Examples:\n    penstock {command}" in text or f"    penstock {command}" in text
    assert "--json" in text


def test_every_command_is_listed() -> None:
    text = run(FakeTables(), "--help").stdout
    assert all(f"\n  {command} " in text for command in COMMANDS)


@pytest.mark.process
def test_help_does_not_load_spark() -> None:
    code = "import sys; from penstock.cli.app import app; app(['create', '--help'], standalone_mode=False)\n"
    code += "sys.exit(any(name.split('.')[0] in {'pyspark', 'deltalake', 'pyarrow', 'pandas'} for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.process
@pytest.mark.parametrize("module", ["typer", "penstock.cli.context.ctrl_c", "penstock.cli.commands.observe.versions"])
def test_an_interrupt_while_the_code_is_loaded_is_one_line(module: str) -> None:
    code = f"""
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from penstock.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_create_passes_everything_on(warehouse: Path) -> None:
    tables = FakeTables()
    arguments = ["--lag", "5m", "--mode", "full", "--key", "a", "--key", "b", "--on-schedule", "--or-replace", "--yes"]
    result = run(tables, "create", "s.r", "SELECT 1 AS a;", *arguments, "-w", str(warehouse))
    assert result.exit_code == 0
    options = {
        "target_lag": "5m",
        "refresh_mode": "FULL",
        "initialize": False,
        "key": ("a", "b"),
        "or_replace": True,
        "if_not_exists": False,
        "cascade": True,
    }
    assert tables.calls[-1] == ("create_stream_table", ("s.r", "SELECT 1 AS a"), options)
    assert tables.closed


def test_create_reads_its_query_from_a_file_or_a_pipe(warehouse: Path) -> None:
    tables = FakeTables()
    script = warehouse / "q.sql"
    script.write_text("SELECT 1 AS a -- one\n")
    assert run(tables, "create", "r", "-f", str(script), "-w", str(warehouse)).exit_code == 0
    assert run(tables, "create", "r", "-f", "-", "-w", str(warehouse), stdin="SELECT 2 AS a").exit_code == 0
    assert [call[1][1] for call in tables.calls] == ["SELECT 1 AS a", "SELECT 2 AS a"]
    assert run(tables, "create", "r", "-f", str(warehouse / "none.sql"), "-w", str(warehouse)).exit_code == 2


def test_downstream_is_no_lag_of_its_own(warehouse: Path) -> None:
    tables = FakeTables()
    run(tables, "create", "r", "SELECT 1 AS a", "--lag", "downstream", "-w", str(warehouse))
    run(tables, "alter", "r", "--lag", "DOWNSTREAM", "-w", str(warehouse))
    assert tables.calls[0][2]["target_lag"] is None
    assert tables.calls[1] == ("alter_stream_table", ("r",), {"target_lag": None})


def test_alter_names_only_what_changes(warehouse: Path) -> None:
    tables = FakeTables()
    run(tables, "alter", "r", "--resume", "-w", str(warehouse))
    assert tables.calls == [("alter_stream_table", ("r",), {"status": "ACTIVE"})]


def test_the_warehouse_may_come_from_the_environment(warehouse: Path) -> None:
    result = run(FakeTables(), "status", "--json", env={"PENSTOCK_WAREHOUSE": str(warehouse)})
    assert result.exit_code == 0


def test_a_folder_that_is_no_warehouse_is_left_alone(tmp_path: Path) -> None:
    tables = FakeTables()
    result = run(tables, "sql", "-e", "SELECT 1", "-w", str(tmp_path))
    assert result.exit_code == 1
    assert "penstock init" in result.stderr
    assert not tables.calls
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["sql", "-e", "SELECT * FROM revenue"],
        ["sql", "-e", "SELECT * FROM missing"],
        ["sql", "-e", "CREATE STREAM TABLE"],
        ["create", "r", "SELECT 1 AS a"],
        ["create", "r", "DROP TABLE t"],
        ["alter", "r", "--suspend"],
        ["drop", "revenue", "--yes"],
        ["drop", "other", "--yes"],
        ["refresh", "top"],
        ["refresh", "nothing"],
        ["status"],
        ["history"],
        ["graph"],
        ["info"],
        ["explain", "revenue"],
        ["audit", "damaged"],
        ["doctor"],
        ["repair"],
        ["tick"],
        ["stats"],
        ["stats", "nothing"],
        ["alerts"],
        ["health"],
    ],
    ids=" ".join,
)
def test_json_is_one_document_and_nothing_else(warehouse: Path, arguments: list[str]) -> None:
    result = run(FakeTables(), *arguments, "--json", "-w", str(warehouse))
    json.loads(result.stdout)
    assert result.stderr == ""
    assert result.exit_code in {0, 1}
    assert ("error" in result.stdout) >= (result.exit_code == 1) or arguments[0] == "audit"


def test_sql_reads_arguments_a_file_and_a_pipe(warehouse: Path) -> None:
    tables = FakeTables()
    script = warehouse / "setup.sql"
    script.write_text("CREATE TABLE a (x INT); -- one;\nCREATE TABLE b (x INT)")
    run(tables, "sql", "-f", str(script), "-w", str(warehouse))
    run(tables, "sql", "-w", str(warehouse), stdin="SELECT 3;")
    run(tables, "sql", "SELECT 4", "-w", str(warehouse))
    run(tables, "sql", "-e", "SELECT 5", "-w", str(warehouse))
    asked = [call[1][0] for call in tables.calls]
    assert asked == ["CREATE TABLE a (x INT)", "CREATE TABLE b (x INT)", "SELECT 3", "SELECT 4", "SELECT 5"]


def test_sql_runs_nothing_of_a_script_it_cannot_read(warehouse: Path) -> None:
    tables = FakeTables()
    result = run(tables, "sql", "-e", "DROP TABLE t; DROP STREAM TABLES x", "-w", str(warehouse))
    assert result.exit_code == 1
    assert not tables.calls


def test_sql_stops_at_the_first_error(warehouse: Path) -> None:
    tables = FakeTables()
    script = "INSERT INTO t VALUES (1); SELECT * FROM missing; INSERT INTO t VALUES (2)"
    assert run(tables, "sql", "-e", script, "-w", str(warehouse)).exit_code == 1
    assert len(tables.calls) == 2


def test_sql_shows_all_rows_when_asked(warehouse: Path) -> None:
    result = run(FakeTables(), "sql", "-e", "SELECT * FROM many", "--limit", "0", "--json", "-w", str(warehouse))
    assert len(json.loads(result.stdout)["results"][0]["rows"]) == 120


def test_tick_takes_a_moment_in_utc(warehouse: Path) -> None:
    tables = FakeTables()
    run(tables, "tick", "--now", "2026-03-01T12:00:00", "-w", str(warehouse))
    run(tables, "tick", "--now", "2026-03-01T13:00:00+0100", "-w", str(warehouse))
    assert [call[1] for call in tables.calls if call[0] == "tick"] == [(NOON,), (NOON,)]


def test_init_writes_settings_that_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "warehouse"
    assert run(FakeTables(), "init", str(path)).exit_code == 0
    text = (path / "penstock.toml").read_text("utf-8")
    assert tomllib.loads(text) == {}
    uncommented = "\n".join(line[2:] for line in text.splitlines() if " = " in line)
    assert Settings(**tomllib.loads(uncommented)) == Settings()
    (path / "penstock.toml").write_text("enabled = false\n")
    assert run(FakeTables(), "init", str(path)).exit_code == 0
    assert (path / "penstock.toml").read_text("utf-8") == "enabled = false\n"


def test_init_refuses_a_folder_it_cannot_make(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run(FakeTables(), "init", str(tmp_path / "file" / "x"))
    assert result.exit_code == 1
    assert "WAREHOUSE_UNUSABLE" in result.stderr


def test_the_traceback_is_shown_on_request(warehouse: Path) -> None:
    result = run(FakeTables(), "sql", "-e", "SELECT bug", "-w", str(warehouse), env={"PENSTOCK_TRACEBACK": "1"})
    assert "Traceback" in result.stderr
    assert result.exit_code == 1


def test_the_prompt_gathers_lines_until_a_semicolon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = iter(
        ["SELECT *", "FROM revenue; SELECT", "'a;b'", ";", "SELECT * FROM missing;", "\\s", "junk", "\\c", "\\q"]
    )
    monkeypatch.setattr("builtins.input", lambda shown: next(lines))
    monkeypatch.setattr(prompt, "_remember_lines", lambda: None)
    tables = FakeTables()
    prompt.run_prompt(CommandContext(False, tables), 50, yes=False)
    asked = [call[1][0] for call in tables.calls if call[0] == "sql"]
    assert asked == ["SELECT *\nFROM revenue", "SELECT\n'a;b'", "SELECT * FROM missing"]
    shown = capsys.readouterr()
    assert "1234.50" in shown.out
    assert "SUSPENDED" in shown.out
    assert "QUERY_INVALID" in shown.err


@pytest.mark.parametrize("asked", ["help", "HELP;", "?", "\\?", "\\h"])
@pytest.mark.parametrize("left", ["quit", "exit;", "\\q", "QUIT ;"])
def test_the_prompt_helps_and_can_be_left_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: str, left: str
) -> None:
    lines = iter([asked, left])
    monkeypatch.setattr("builtins.input", lambda shown: next(lines))
    monkeypatch.setattr(prompt, "_remember_lines", lambda: None)
    tables = FakeTables()
    prompt.run_prompt(CommandContext(False, tables), 50, yes=False)
    assert not tables.calls
    assert "SHOW STREAM TABLES" in capsys.readouterr().out


def test_the_prompt_survives_control_c_and_ends_with_control_d(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[object] = ["SELECT", KeyboardInterrupt(), "SELECT 1;", EOFError()]

    def answer(shown: str) -> str:
        turn = turns.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return str(turn)

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(prompt, "_remember_lines", lambda: None)
    tables = FakeTables()
    prompt.run_prompt(CommandContext(False, tables), 50, yes=False)
    assert [call[1][0] for call in tables.calls] == ["SELECT 1"]


def test_the_prompt_survives_control_c_that_is_pressed_again_while_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[object] = ["SELECT 1;", "SELECT 2;", EOFError()]
    echoes: list[object] = []

    def answer(shown: str) -> str:
        turn = turns.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return str(turn)

    def echo(*said: object, **_: object) -> None:
        echoes.append(said)
        if said == ("interrupted",):
            raise KeyboardInterrupt

    def run(command: CommandContext, steps: Any, limit: int, yes: bool) -> None:
        ran.append(len(ran))
        if len(ran) == 1:
            raise KeyboardInterrupt

    ran: list[int] = []
    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(prompt, "_remember_lines", lambda: None)
    monkeypatch.setattr(prompt, "run_steps", run)
    monkeypatch.setattr(prompt.typer, "echo", echo)
    prompt.run_prompt(CommandContext(False, FakeTables()), 50, yes=False)
    assert len(ran) == 2
    assert ("interrupted",) in echoes


def test_the_prompt_comes_back_after_changes_were_followed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["SUBSCRIBE revenue;", "SELECT 1;", "\\q"])
    monkeypatch.setattr("builtins.input", lambda shown: next(lines))
    monkeypatch.setattr(prompt, "_remember_lines", lambda: None)
    tables = FakeTables()
    prompt.run_prompt(CommandContext(False, tables), 2, yes=False)
    assert [call[1][0] for call in tables.calls] == ["SUBSCRIBE revenue", "SELECT 1"]
    shown = capsys.readouterr().out
    assert "… and 28 more" in shown
    assert "stopped at LSN 36 after 2 commits" in shown


def test_health_tells_scripts_by_its_exit_code(warehouse: Path) -> None:
    assert run(FakeTables(healthy=True), "health", "-w", str(warehouse)).exit_code == 0
    assert run(FakeTables(healthy=False), "health", "-w", str(warehouse)).exit_code == 1
    assert run(FakeTables(healthy=False), "health", "--json", "-w", str(warehouse)).exit_code == 1


def test_alerts_asks_for_as_many_as_are_wanted(warehouse: Path) -> None:
    tables = FakeTables()
    run(tables, "alerts", "revenue", "-n", "7", "-w", str(warehouse))
    assert tables.calls == [("alerts", ("revenue",), {"max_rows": 7})]


def test_subscribe_passes_everything_on(warehouse: Path) -> None:
    tables = FakeTables()
    arguments = ["--lsn", "3", "--where", "a > 1", "--columns", "a, b", "--delivery", "net", "--durable", "mailer"]
    result = run(tables, "subscribe", "s.r", *arguments, "--policy", "block", "-w", str(warehouse))
    assert result.exit_code == 0
    given = {"lsn": 3, "where": "a > 1", "columns": ["a", "b"], "delivery": "net", "durable": "mailer"}
    rest = {"start": None, "version": None, "timestamp": None, "policy": "block"}
    assert tables.calls == [("subscribe", ("s.r",), {**given, **rest})]


def test_subscribe_reads_a_moment(warehouse: Path) -> None:
    tables = FakeTables()
    run(tables, "subscribe", "r", "--timestamp", "2026-03-01 13:00:00+01:00", "-w", str(warehouse))
    assert tables.calls[0][2]["timestamp"] == NOON


def test_subscribe_gives_signals_back(warehouse: Path) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    run(FakeTables(), "subscribe", "gone", "-w", str(warehouse))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_commit_is_acknowledged_once_it_is_printed(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = FakeTables()
    made: list[FakeSubscription] = []

    def subscribed(self: FakeTables, name: str, **options: object) -> FakeSubscription:
        made.append(FakeSubscription(revenue_commits()))
        return made[-1]

    monkeypatch.setattr(FakeTables, "subscribe", subscribed)
    run(tables, "subscribe", "r", "--durable", "mailer", "--json", "-n", "2", "-w", str(warehouse))
    run(tables, "subscribe", "r", "--json", "-n", "2", "-w", str(warehouse))
    assert [each.acknowledged for each in made] == [[2, 6], []]


class Failing(FakeTables):
    """Logs and raises as a refresh that fails does."""

    @recorded
    def refresh(self, name: str, *, progress: Report | None = None) -> RefreshResult:
        log = logging.getLogger("penstock.refresh")
        log.warning("a webhook does not answer")
        log.warning("default.revenue failed: division by zero", extra={"event": "refresh_failed"})
        raise QueryFailed(name="default.revenue", why="division by zero")

    @recorded
    def tick(self, now: datetime | None = None) -> list[RefreshResult]:
        try:
            return [idle(), self.refresh("revenue")]
        except QueryFailed as error:
            return [idle(), refreshed("default.revenue", Action.INCREMENTAL, error=error)]


def test_a_refresh_that_fails_says_it_once(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As outside of pytest, where nobody has set up logging.
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", False)
    told = run(Failing(), "refresh", "revenue", "-w", str(warehouse)).stderr
    assert told.count("division by zero") == 1
    assert "a webhook does not answer" in told


def test_a_tick_shows_what_failed_beside_what_was_done(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", False)
    told = run(Failing(), "tick", "-w", str(warehouse))
    assert told.exit_code == 1
    assert "division by zero" not in told.stderr
    [line] = [line for line in told.stdout.splitlines() if "FAILED" in line]
    assert "default.revenue" in line
    assert "QUERY_FAILED" in line
    assert "default.idle" in told.stdout
    document = run(Failing(), "tick", "--json", "-w", str(warehouse))
    assert document.exit_code == 1
    assert [each["error"] is None for each in json.loads(document.stdout)] == [True, False]


def test_status_and_tick_say_that_the_catalog_is_paused(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = FakeTables(healthy=False)
    monkeypatch.setattr(FakeTables, "tick", lambda tables, now=None: [])
    for command in ("status", "tick"):
        assert "penstock resume" in run(tables, command, "-w", str(warehouse)).stdout


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_repair_that_could_not_put_all_back_ends_with_1(warehouse: Path, form: tuple[str, ...]) -> None:
    class Lossy(FakeTables):
        @recorded
        def repair(self) -> RepairReport:
            lines = ("stream table default.a: could not be restored: why",)
            return RepairReport(lines, missing=("default.a",))

    told = run(Lossy(), "repair", *form, "-w", str(warehouse))
    assert (told.exit_code, "missing" in told.stdout) == (1, True)
