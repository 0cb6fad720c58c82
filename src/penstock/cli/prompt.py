"""The prompt of `penstock sql`: lines are gathered until a semicolon ends a statement; an error does not end it."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from penstock.cli import failure
from penstock.cli.desk import Desk

_HELP = r"""  statements end with ;
  \q  leave    \s  status    \c  clear what was typed    \?  this help"""


def converse(desk: Desk, limit: int) -> None:
    r"""Read and run statements until `\q` or the end of input."""
    _remember_lines()
    typer.echo(r"Penstock SQL. Statements end with ;   \? for help, \q to leave.")
    typed = ""
    while True:
        try:
            line = input("penstock> " if not typed.strip() else "     ...> ")
        except EOFError:
            typer.echo()
            return
        except KeyboardInterrupt:
            typer.echo()
            typed = ""
            continue
        if line.strip().startswith("\\") or (not typed.strip() and line.strip().lower() in {"quit", "exit"}):
            if _is_leave(desk, line.strip().lower()):
                return
            typed = ""
            continue
        typed = _run_complete(desk, typed + line + "\n", limit)


def _run_complete(desk: Desk, typed: str, limit: int) -> str:
    """Run the statements that are complete, and return what is not."""
    from penstock.cli.sql import run_shown
    from penstock.lang import split_script

    statements, rest = split_script(typed)
    for statement in statements:
        try:
            run_shown(desk, statement, limit)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            return ""
        except Exception as error:
            failure.show(error)
            return ""
    return rest + "\n" if rest else ""


def _is_leave(desk: Desk, command: str) -> bool:
    if command in {"\\q", "quit", "exit"}:
        return True
    if command == "\\s":
        from penstock.cli.status import status_table

        desk.print(status_table(desk.tables.status()))
    elif command != "\\c":
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
