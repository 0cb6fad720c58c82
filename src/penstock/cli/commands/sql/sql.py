"""`penstock sql`: run statements, ours and Spark's, from the command line, a file, a pipe or a prompt.

All scripts are read before the first statement runs, so a misspelt stream table statement changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.commands.sql.run_statements import run_steps
from penstock.cli.context.command_context import opened, opened_lazily, reporting_errors
from penstock.cli.context.consent import Yes
from penstock.cli.context.options import HERE, AsJson, Warehouse, read_text
from penstock.cli.context.terminal import is_terminal

if TYPE_CHECKING:
    from penstock.lang.script import Step


def sql(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="SQL", help="Statements to run.", show_default=False)] = None,
    execute: Annotated[
        list[str] | None,
        typer.Option("-e", "--execute", metavar="SQL", help="The same; repeat it for several.", show_default=False),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "-f",
            "--file",
            metavar="FILE",
            help="A script to run, or a folder, whose .sql files run in the order of their names; - is standard input. "
            "Repeat it for several, which run in the order given.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Show at most this many rows; 0 shows all.")] = 50,
    yes: Yes = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Run SQL: stream table statements, and all of Spark's.

    Without statements and -f, it reads standard input, or shows a prompt on a terminal. DROP STREAM TABLE does not ask
    here; a statement that takes a source from stream tables does. All files are read before the first statement runs.
    The first statement that fails ends the run; what ran before it stays done.

    \b
    Examples:
      penstock sql "SELECT * FROM revenue ORDER BY total DESC"
      penstock sql -f setup.sql -f views.sql
      echo "SHOW STREAM TABLES" | penstock sql
      penstock sql
    """
    if sum(bool(given) for given in (text is not None, execute, file)) > 1:
        raise typer.BadParameter("give statements, -e or -f, one of them")
    typed = execute or ([] if text is None else [text])
    if not typed and not file and is_terminal(sys.stdin):
        if as_json:
            raise typer.BadParameter("--json needs statements, -f or a pipe")
        from penstock.cli.commands.sql.prompt import run_prompt

        with opened(ctx, warehouse, as_json) as command:
            run_prompt(command, limit, yes)
        return
    scripts = read_scripts(file or [Path("-")]) if not typed else ((None, each) for each in typed)
    with reporting_errors(as_json):
        from penstock.lang.script import read_script

        steps = [step for name, script in list(scripts) for step in read_script(script, name)]
        follows = _follows(steps)
        if follows and as_json:
            raise typer.BadParameter("SUBSCRIBE does not end; for JSON lines use: penstock subscribe NAME --json")
    # What only follows changes needs no Spark.
    with (opened_lazily if follows and len(steps) == 1 else opened)(ctx, warehouse, as_json) as command:
        run_steps(command, steps, limit, yes)


def read_scripts(paths: Sequence[Path]) -> Iterator[tuple[str | None, str]]:
    """Name and text of every file in order, those of a folder by their names; standard input has no name."""
    for path in paths:
        if path.is_dir():
            found = sorted(each for each in path.glob("*.sql") if each.is_file() and not each.name.startswith("."))
            if not found:
                raise typer.BadParameter(f"there is no .sql file in the folder {path}")
            for each in found:
                yield str(each), read_text(each)
        else:
            yield None if str(path) == "-" else str(path), read_text(path)


def _follows(steps: Sequence[Step]) -> bool:
    """True if the last statement is SUBSCRIBE, which does not end; nothing can come after it, not in another file."""
    from penstock.lang import Subscribe

    *before, last = [isinstance(step.statement, Subscribe) for step in steps] or [False]
    if any(before):
        raise typer.BadParameter("nothing can follow SUBSCRIBE, which goes on until it is stopped")
    return last
