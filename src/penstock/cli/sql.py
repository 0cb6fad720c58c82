"""`penstock sql`: run statements, ours and Spark's, from the command line, a file, a pipe or a prompt.

All scripts are read before the first statement runs, so a misspelt stream table statement changes nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli import failure
from penstock.cli.consent import Yes, all_the_same
from penstock.cli.desk import Desk, failing, looking, opened
from penstock.cli.durations import spoken
from penstock.cli.follow import follow
from penstock.cli.main import INTERRUPTED
from penstock.cli.options import HERE, AsJson, Warehouse, read_text
from penstock.cli.terminal import is_terminal

if TYPE_CHECKING:
    from penstock.lang.script import Step

_AFFECTED = "num_affected_rows"


def sql(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="SQL", help="Statements to run.", show_default=False)] = None,
    execute: Annotated[
        list[str] | None,
        typer.Option("-e", "--execute", metavar="SQL", help="The same, as an option; repeat it.", show_default=False),
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

    Without statements and -f, they come from standard input, or from a prompt on a terminal. A statement is taken at
    its word: DROP STREAM TABLE does not ask. What would take a source from stream tables that read it does. All files
    are read before the first statement runs; the first that fails ends the run, and what was done before it stays.

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
        from penstock.cli.prompt import converse

        with opened(ctx, warehouse, as_json) as desk:
            converse(desk, limit, yes)
        return
    scripts = read_scripts(file or [Path("-")]) if not typed else ((None, each) for each in typed)
    with failing(as_json):
        from penstock.lang.script import read_script

        steps = [step for name, script in list(scripts) for step in read_script(script, name)]
        follows = _follows(steps)
        if follows and as_json:
            raise typer.BadParameter("SUBSCRIBE does not end; for JSON lines use: penstock subscribe NAME --json")
    # What only follows changes needs no Spark.
    with (looking if follows and len(steps) == 1 else opened)(ctx, warehouse, as_json) as desk:
        run_all(desk, steps, limit, yes)


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


def run_all(desk: Desk, steps: Sequence[Step], limit: int, yes: bool) -> None:
    """Run statements in order until one fails or Ctrl-C ends it; what ran before it has happened, and is told."""
    from penstock.lang.script import half_way

    results: list[dict[str, Any]] = []
    for at, step in enumerate(steps):
        try:
            if desk.as_json:
                results.append(run(desk, step.text, limit, yes))
            else:
                if at:
                    desk.print()
                run_shown(desk, step.text, limit, yes)
        except (Exception, KeyboardInterrupt) as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            if not desk.as_json:
                if len(steps) > 1 or step.file:
                    told = half_way(steps, at, error)
                    if interrupted:
                        typer.echo(told, err=True)
                    error.add_note(told)
                raise
            document = {"results": results, "error": failure.told(error), "failed": step.to_json()}
            desk.document({**document, "not_run": [later.to_json() for later in steps[at + 1 :]]})
            if interrupted:
                typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED if interrupted else 1) from None
    if desk.as_json:
        desk.document({"results": results})


def run(desk: Desk, statement: str, limit: int, yes: bool) -> dict[str, Any]:
    """Run one statement and return its result; `more` is the number of rows beyond the limit."""
    return all_the_same(lambda said: _answered(desk, statement, limit, said), yes=yes, as_json=desk.as_json)


def _answered(desk: Desk, statement: str, limit: int, yes: bool) -> dict[str, Any]:
    said = {"yes": True} if yes else {}
    with desk.working(_summary(statement)) as progress:
        result = desk.tables.sql(statement, progress=progress, **said)
        if result is None:
            return {"kind": "ok", "columns": [], "rows": [], "more": 0, "message": None}
        if hasattr(result, "collect"):
            # With the warehouse open, Spark is loaded already.
            from penstock.engine.spark.statement import statement_errors

            with statement_errors(desk.tables.spark, statement):
                return _collected(result, limit)
    if hasattr(result, "next_commit"):
        return {"kind": "changes", "subscription": result}
    rows = [tuple(row) for row in result.rows]
    shown = rows[:limit] if limit else rows
    return {
        "kind": result.kind,
        "columns": list(result.columns),
        "rows": shown,
        "more": len(rows) - len(shown),
        "message": result.message,
    }


def _collected(frame: Any, limit: int) -> dict[str, Any]:
    columns = list(frame.columns)
    if not columns:
        return {"kind": "ok", "columns": [], "rows": [], "more": 0, "message": None}
    rows = [tuple(row) for row in (frame.limit(limit + 1) if limit else frame).collect()]
    more = 0
    if limit and len(rows) > limit:
        rows = rows[:limit]
        # The count costs a second run, and only when the answer is not known.
        more = max(frame.count() - limit, 1)
    return {"kind": "rows", "columns": columns, "rows": rows, "more": more, "message": None}


def run_shown(desk: Desk, statement: str, limit: int, yes: bool) -> None:
    """Run one statement and print its result for a person."""
    from penstock.cli.answers import answer_table
    from penstock.cli.tables import console, print_rows

    begun = time.monotonic()
    result = run(desk, statement, limit, yes)
    took = f" ({spoken(time.monotonic() - begun)})"
    if result["kind"] == "changes":
        follow(desk, result["subscription"], rows=limit)
        return
    columns, rows, more = result["columns"], result["rows"], result["more"]
    if columns and columns[0] == _AFFECTED and len(rows) == 1:
        desk.print(_affected(columns, rows[0]) + took)
    elif result["kind"] == "show_create":
        # To be copied, so nothing is folded.
        desk.print(str(rows[0][0]))
    elif (told := answer_table(result["kind"], columns, rows)) is not None:
        desk.print(told)
        desk.print(_count(len(rows), "row"))
    elif columns:
        print_rows(console(), columns, rows)
        known = _count(len(rows), "row")
        desk.print(f"{known}, and {more} more (--limit 0 shows all)" if more else known)
    # What SHOW adds has been said when the warehouse was opened.
    if result["message"] and result["kind"] != "show":
        desk.print(str(result["message"]))
    elif not columns:
        desk.print(f"ok{took}")


def _affected(columns: Sequence[str], counts: Sequence[Any]) -> str:
    """What a statement did to how many rows, from Delta's counts: num_affected_rows, num_inserted_rows and so on."""
    parts = {
        name.removeprefix("num_").removesuffix("_rows"): count
        for name, count in zip(columns[1:], counts[1:], strict=True)
        if count
    }
    if len(parts) == 1:
        return f"{_count(counts[0], 'row')} {next(iter(parts))}"
    told = ", ".join(f"{count} {done}" for done, count in parts.items())
    return f"{_count(counts[0], 'row')} affected" + (f": {told}" if told else "")


def _count(number: Any, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _summary(statement: str) -> str:
    line = " ".join(statement.split())
    return line if len(line) <= 60 else line[:59] + "…"
