"""Scripts of `penstock sql`: several run in order, all are read first; one that fails says how far it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from fake_tables import FakeTables, Frame, fake_openers
from pyspark.errors import PySparkException
from typer.testing import CliRunner, Result

from penstock.cli.app import app
from penstock.cli.commands.sql import prompt
from penstock.cli.context.command_context import CommandContext


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "penstock.toml").touch()
    (tmp_path / "a.sql").write_text("CREATE TABLE a (x INT);\n\n-- two\nINSERT INTO a VALUES (1)")
    (tmp_path / "b.sql").write_text("SELECT * FROM a;\n\nSELECT * FROM missing;\nDROP TABLE a;\nSELECT 1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(tables: FakeTables, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["sql", *arguments], obj=fake_openers(tables))


def ran(tables: FakeTables) -> list[str]:
    return [call[1][0] for call in tables.calls]


def test_several_files_run_in_the_order_given(folder: Path) -> None:
    tables = FakeTables()
    (folder / "c.sql").write_text("SELECT 3")
    assert run(tables, "-f", "c.sql", "-f", "a.sql").exit_code == 0
    assert ran(tables) == ["SELECT 3", "CREATE TABLE a (x INT)", "INSERT INTO a VALUES (1)"]


def test_several_statements_as_options_run_in_the_order_given(folder: Path) -> None:
    tables = FakeTables()
    assert run(tables, "-e", "SELECT 2; SELECT 3", "-e", "SELECT 1").exit_code == 0
    assert ran(tables) == ["SELECT 2", "SELECT 3", "SELECT 1"]


def test_a_folder_runs_its_sql_files_by_name(folder: Path) -> None:
    scripts = folder / "setup"
    (scripts / "deep.sql").mkdir(parents=True)
    for name in ("20_rows.sql", "10_tables.sql", ".hidden.sql", "notes.txt"):
        (scripts / name).write_text(f"SELECT '{name}'")
    tables = FakeTables()
    assert run(tables, "-f", "setup").exit_code == 0
    assert ran(tables) == ["SELECT '10_tables.sql'", "SELECT '20_rows.sql'"]
    assert "folder, whose .sql files run in the order of their names" in " ".join(run(tables, "--help").stdout.split())


def test_a_folder_without_scripts_is_an_error(folder: Path) -> None:
    (folder / "empty").mkdir()
    result = run(FakeTables(), "-f", "empty")
    assert (result.exit_code, "there is no .sql file in the folder empty" in result.stderr) == (2, True)


def test_all_files_are_read_before_any_runs(folder: Path) -> None:
    tables = FakeTables()
    (folder / "c.sql").write_text("SELECT 1;\nCREATE STREAM TABLE t TARGET LAGG '1 hour' AS SELECT 1 AS a")
    result = run(tables, "-f", "a.sql", "-f", "c.sql")
    assert result.exit_code == 1
    assert "(c.sql, line 2, column 30)" in result.stderr
    assert not tables.calls


def test_nothing_can_follow_what_does_not_end_in_another_file(folder: Path) -> None:
    tables = FakeTables()
    (folder / "c.sql").write_text("SUBSCRIBE revenue")
    assert run(tables, "-f", "c.sql", "-f", "a.sql").exit_code == 2
    assert not tables.calls


def test_a_script_that_fails_half_way_says_how_far_it_came(folder: Path) -> None:
    result = run(FakeTables(), "-f", "a.sql", "-f", "b.sql")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[2:] == [
        "  Statement 4 of 6 failed (b.sql, line 3): SELECT * FROM missing",
        "  Done before it, and kept:",
        "    a.sql, line 1: CREATE TABLE a (x INT)",
        "    a.sql, line 4: INSERT INTO a VALUES (1)",
        "  Not run: the 2 statements after it.",
    ]


def test_of_what_spark_alone_understands_it_is_told_that_it_ran(folder: Path) -> None:
    (folder / "c.sql").write_text(
        "SET a = 1; BEGIN INSERT INTO a VALUES (1); END; OPTIMIZE a; REFRESH b; SELECT * FROM missing"
    )
    said = run(FakeTables(), "-f", "c.sql").stderr
    assert "c.sql, line 1: BEGIN INSERT INTO a" in said
    assert "c.sql, line 1: OPTIMIZE a" in said
    # It may be a stream table, and then its rows may have changed.
    assert "c.sql, line 1: REFRESH b" in said
    assert "SET a" not in said


def test_a_mark_of_the_encoding_is_no_part_of_a_script(folder: Path) -> None:
    (folder / "c.sql").write_text("SELECT 3", encoding="utf-8-sig")
    for arguments, typed in ((["-f", "c.sql"], None), ([], "\ufeffSELECT 3")):
        tables = FakeTables()
        assert CliRunner().invoke(app, ["sql", *arguments], obj=fake_openers(tables), input=typed).exit_code == 0
        assert ran(tables) == ["SELECT 3"]


def test_a_closed_standard_input_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with patch("sys.stdin", None), pytest.raises(SystemExit):
        app(["sql"], obj=fake_openers(FakeTables()))
    assert "standard input is closed" in capsys.readouterr().err


class Collecting(FakeTables):
    """Spark finds out while it brings the rows what is wrong with them."""

    def _sql(self, text: str) -> Any:
        class Failing(Frame):
            def limit(self, count: int) -> Failing:
                return self

            def collect(self) -> list[tuple[Any, ...]]:
                raise PySparkException(
                    "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL (line 1, position 8) ==\nSELECT 1/0\n"
                    "\nJVM stacktrace:\norg.apache.spark.SparkArithmeticException\n\tat org.apache.spark"
                )

        return Failing(["x"], [])


def test_what_fails_while_rows_are_fetched_is_one_error_of_ours(folder: Path) -> None:
    for arguments in (["SELECT 1/0"], ["SELECT 1/0", "--json"]):
        said = run(Collecting(), *arguments)
        assert said.exit_code == 1
        assert "STATEMENT_FAILED" in said.output
        assert "Division by zero [SPARK] (line 1, column 8)" in said.output
        assert "org.apache" not in said.output


def test_a_single_statement_that_fails_has_no_more_to_say_than_its_error(folder: Path) -> None:
    assert "Statement" not in run(FakeTables(), "SELECT * FROM missing").stderr


def test_a_script_that_fails_half_way_says_so_in_json(folder: Path) -> None:
    said = json.loads(run(FakeTables(), "-f", "a.sql", "-f", "b.sql", "--json").stdout)
    assert [result["kind"] for result in said["results"]] == ["ok", "rows", "ok"]
    assert said["error"]["condition"] == "QUERY_INVALID"
    assert said["failed"] == {"file": "b.sql", "line": 3, "sql": "SELECT * FROM missing"}
    assert [(step["file"], step["line"], step["sql"]) for step in said["not_run"]] == [
        ("b.sql", 4, "DROP TABLE a"),
        ("b.sql", 5, "SELECT 1"),
    ]


class Interrupted(FakeTables):
    """Ctrl-C is pressed while the query over `missing` runs."""

    def sql(self, text: str, **options: Any) -> Any:
        answer = super().sql
        if "missing" in text:
            self.calls.append(("sql", (text,), {}))
            raise KeyboardInterrupt
        return answer(text, **options)


def test_a_script_that_is_interrupted_says_how_far_it_came(folder: Path) -> None:
    result = run(Interrupted(), "-f", "a.sql", "-f", "b.sql")
    assert result.exit_code == 130
    assert result.stderr.splitlines() == [
        "Statement 4 of 6 was interrupted (b.sql, line 3): SELECT * FROM missing",
        "Done before it, and kept:",
        "  a.sql, line 1: CREATE TABLE a (x INT)",
        "  a.sql, line 4: INSERT INTO a VALUES (1)",
        "Not run: the 2 statements after it.",
        "interrupted",
    ]
    alone = run(Interrupted(), "SELECT * FROM missing")
    assert (alone.exit_code, alone.stderr) == (130, "interrupted\n")


def test_a_script_that_is_interrupted_says_so_in_json(folder: Path) -> None:
    result = run(Interrupted(), "-f", "a.sql", "-f", "b.sql", "--json")
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    said = json.loads(result.stdout)
    assert [each["kind"] for each in said["results"]] == ["ok", "rows", "ok"]
    assert said["error"] == {"condition": "INTERRUPTED", "message": "interrupted"}
    assert said["failed"] == {"file": "b.sql", "line": 3, "sql": "SELECT * FROM missing"}
    assert [step["sql"] for step in said["not_run"]] == ["DROP TABLE a", "SELECT 1"]


@pytest.mark.parametrize(("kind", "how"), [(FakeTables, "failed"), (Interrupted, "was interrupted")])
def test_the_prompt_says_what_of_a_line_was_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: type[FakeTables], how: str
) -> None:
    typed = iter(["INSERT INTO a VALUES (1); SELECT * FROM missing; SELECT 2;"])

    def read(_: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    monkeypatch.setattr(prompt, "_remember_lines", lambda: None)
    tables = kind()
    prompt.run_prompt(CommandContext(False, tables), 50, yes=False)
    assert ran(tables) == ["INSERT INTO a VALUES (1)", "SELECT * FROM missing"]
    told = capsys.readouterr().err
    assert f"Statement 2 of 3 {how} (line 1): SELECT * FROM missing" in told
    assert "Not run: the statement after it." in told


@pytest.mark.parametrize("command", [["create", "r"], ["alter", "r"], ["explain"]], ids=" ".join)
def test_a_query_given_twice_is_refused(folder: Path, command: list[str]) -> None:
    tables = FakeTables()
    result = CliRunner().invoke(app, [*command, "-f", "a.sql", "-f", "b.sql"], obj=fake_openers(tables))
    assert (result.exit_code, "give one query" in result.stderr) == (2, True)
    assert not tables.calls
