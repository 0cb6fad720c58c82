"""The prompt of `penstock sql`: gathers lines until a semicolon ends a statement. An error does not end the prompt."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import typer

from penstock.cli.commands.sql.run_statements import run_steps
from penstock.cli.context import failure
from penstock.cli.context.command_context import CommandContext
from penstock.cli.context.ctrl_c import handling

_HELP = r"""  Statements end with ; and may take several lines. All of Spark's SQL can be used, and:
    CREATE STREAM TABLE name TARGET LAG '5 minutes' AS SELECT …
    SHOW STREAM TABLES;   REFRESH STREAM TABLE name;   EXPLAIN STREAM TABLE name;   DROP STREAM TABLE name;
    SUBSCRIBE name;   until Ctrl-C
  \q, quit or exit  leave    \s  status    \c  clear what was typed    \? or help  this help"""
_LEAVE = {"\\q", "quit", "exit"}
_COMMANDS = _LEAVE | {"help", "?"}


def run_prompt(command: CommandContext, limit: int, yes: bool) -> None:
    r"""Read and run statements until `\q` or the end of input. Ctrl-C ends a statement, never the prompt."""
    _remember_lines()
    with handling(signal.default_int_handler):
        typer.echo(r"Penstock SQL. Statements end with ;   help for help, quit to leave.")
        typed: str | None = ""
        while typed is not None:
            before, typed = typed, ""
            # Pressed again while the first one is answered, Ctrl-C is no reason to leave either.
            with suppress(KeyboardInterrupt):
                try:
                    typed = _after_a_line(command, before, limit, yes)
                except KeyboardInterrupt:
                    typer.echo("interrupted", err=True)


def _after_a_line(command: CommandContext, typed: str, limit: int, yes: bool) -> str | None:
    """Read a line and run the statements that it completes; returns the rest, None to leave."""
    try:
        line = input("penstock> " if not typed.strip() else "     ...> ")
    except EOFError:
        typer.echo()
        return None
    except KeyboardInterrupt:
        typer.echo()
        return ""
    word = line.strip().rstrip("; ").lower()
    if word.startswith("\\") or (not typed.strip() and word in _COMMANDS):
        return None if _is_leave(command, word) else ""
    return _run_complete(command, typed + line + "\n", limit, yes)


def _run_complete(command: CommandContext, typed: str, limit: int, yes: bool) -> str:
    """Run the complete statements, and return the rest."""
    from penstock.lang import split_script
    from penstock.lang.script import read_script

    statements, rest = split_script(typed)
    try:
        run_steps(command, read_script(";".join(statements)), limit, yes)
    except Exception as error:
        failure.print_error(error)
        return ""
    return rest + "\n" if rest else ""


def _is_leave(command: CommandContext, word: str) -> bool:
    """Obey a word of the prompt's own; True if it is to leave."""
    if word in _LEAVE:
        return True
    if word == "\\s":
        from penstock.cli.commands.observe.status import status_table

        command.print(status_table(command.tables.status()))
    elif word != "\\c":
        typer.echo(_HELP)
    return False


def _remember_lines() -> None:
    try:
        import atexit
        import readline
    except ImportError:
        return
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "penstock"
    lines = folder / "sql_history"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if lines.exists():
            readline.read_history_file(lines)
    except OSError:
        # A prompt without a memory is still a prompt.
        return
    readline.set_history_length(1000)
    atexit.register(readline.write_history_file, lines)
