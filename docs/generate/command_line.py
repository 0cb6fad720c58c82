"""The command line page, from each command's own help."""

from __future__ import annotations

from typer.main import get_command
from typer.testing import CliRunner

from penstock.cli.app import app

PAGE = "reference/cli.md"


def text() -> str:
    """The page."""
    parts = [
        "# Command line",
        "*Generated from the help of each command.*",
        "Every command works on one warehouse: `-w PATH`, else `PENSTOCK_WAREHOUSE`, else the current folder. With "
        "`--json` a command prints one JSON document and nothing else, errors included. The exit code is 0 if the "
        "command did its work, 1 if it failed, and 2 if it was called wrongly. A command that removes or rebuilds asks "
        "on a terminal. Elsewhere, and with `--json`, it needs `--yes`; without it, it does nothing and ends with 2. "
        "`penstock sql` runs statements without asking, except those that take a source from stream tables that read "
        "it. `subscribe` goes on until it is stopped, so its JSON comes in lines.",
        _help(),
    ]
    # Typer's group keeps its commands in the order of the listing.
    names = get_command(app).commands  # type: ignore[attr-defined]
    parts += [f"## penstock {name}\n\n{_help(name)}" for name in names]
    return "\n\n".join(parts) + "\n"


def _help(*command: str) -> str:
    # The width is pinned, so that the page does not depend on the terminal it is written from.
    answer = CliRunner().invoke(
        app,
        [*command, "--help"],
        prog_name="penstock",
        terminal_width=96,
        env={"COLUMNS": "96", "NO_COLOR": "1", "PENSTOCK_WAREHOUSE": None},
    )
    assert answer.exit_code == 0, answer.output
    return f"```console\n$ penstock {' '.join([*command, '--help'])}\n{answer.stdout.rstrip()}\n```"
