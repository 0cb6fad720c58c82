"""Run the statements of scripts one by one, and print each result for a person, or all of them as one document."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import typer

from penstock.cli.commands.changes.follow import follow
from penstock.cli.context import failure
from penstock.cli.context.command_context import CommandContext
from penstock.cli.context.consent import confirm_if_refused
from penstock.cli.exit_codes import FAILED, INTERRUPTED
from penstock.cli.render.durations import format_duration

if TYPE_CHECKING:
    from penstock.cli.context.stream_tables import Rows
    from penstock.lang.script import Step

_AFFECTED = "num_affected_rows"


def run_steps(command: CommandContext, steps: Sequence[Step], limit: int, yes: bool) -> None:
    """Run statements in order until one fails or Ctrl-C ends it. What ran before stays done, and the error names it."""
    from penstock.lang.script import half_way

    results: list[dict[str, Any]] = []
    for at, step in enumerate(steps):
        try:
            if command.as_json:
                results.append(run_statement(command, step.text, limit, yes))
            else:
                if at:
                    command.print()
                run_and_print(command, step.text, limit, yes)
        except (Exception, KeyboardInterrupt) as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            if not command.as_json:
                if len(steps) > 1 or step.file:
                    how_far = half_way(steps, at, error)
                    if interrupted:
                        typer.echo(how_far, err=True)
                    error.add_note(how_far)
                raise
            document = {"results": results, "error": failure.as_data(error), "failed": step.to_json()}
            command.document({**document, "not_run": [later.to_json() for later in steps[at + 1 :]]})
            if interrupted:
                typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED if interrupted else FAILED) from None
    if command.as_json:
        command.document({"results": results})


def run_statement(command: CommandContext, statement: str, limit: int, yes: bool) -> dict[str, Any]:
    """Run one statement and return its result; `more` is the number of rows beyond the limit."""
    return confirm_if_refused(lambda yes: _result(command, statement, limit, yes), yes=yes, as_json=command.as_json)


def _result(command: CommandContext, statement: str, limit: int, yes: bool) -> dict[str, Any]:
    with command.working(_summary(statement)) as progress:
        result = command.tables.sql(statement, yes=yes, progress=progress)
        # Only now: with the warehouse open, Spark is loaded already.
        from penstock.api import StatementResult

        if hasattr(result, "collect"):
            from penstock.engine.spark.statement import statement_errors

            with statement_errors(command.tables.spark, statement):
                return _collected(cast("Rows", result), limit)
    if not isinstance(result, StatementResult):
        return {"kind": "changes", "subscription": result}
    rows = [tuple(row) for row in result.rows]
    page = rows[:limit] if limit else rows
    return {
        "kind": result.kind,
        "columns": list(result.columns),
        "rows": page,
        "more": len(rows) - len(page),
        "message": result.message,
    }


def _collected(frame: Rows, limit: int) -> dict[str, Any]:
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


def run_and_print(command: CommandContext, statement: str, limit: int, yes: bool) -> None:
    """Run one statement and print its result for a person."""
    from penstock.cli.render.statement_tables import statement_table
    from penstock.cli.render.tables import console, print_rows

    begun = time.monotonic()
    result = run_statement(command, statement, limit, yes)
    took = f" ({format_duration(time.monotonic() - begun)})"
    if result["kind"] == "changes":
        follow(command, result["subscription"], rows=limit)
        return
    columns, rows, more = result["columns"], result["rows"], result["more"]
    if columns and columns[0] == _AFFECTED and len(rows) == 1:
        command.print(_affected(columns, rows[0]) + took)
    elif result["kind"] == "show_create":
        # To be copied, so nothing is folded.
        command.print(str(rows[0][0]))
    elif (drawn := statement_table(result["kind"], columns, rows)) is not None:
        command.print(drawn)
        command.print(_count(len(rows), "row"))
    elif columns:
        print_rows(console(), columns, rows)
        known = _count(len(rows), "row")
        command.print(f"{known}, and {more} more (--limit 0 shows all)" if more else known)
    # What SHOW adds was printed when the warehouse was opened.
    if result["message"] and result["kind"] != "show":
        command.print(str(result["message"]))
    elif not columns:
        command.print(f"ok{took}")


def _affected(columns: Sequence[str], counts: Sequence[Any]) -> str:
    """What a statement did to how many rows, from Delta's counts: num_affected_rows, num_inserted_rows and so on."""
    parts = {
        name.removeprefix("num_").removesuffix("_rows"): count
        for name, count in zip(columns[1:], counts[1:], strict=True)
        if count
    }
    if len(parts) == 1:
        return f"{_count(counts[0], 'row')} {next(iter(parts))}"
    done = ", ".join(f"{count} {done}" for done, count in parts.items())
    return f"{_count(counts[0], 'row')} affected" + (f": {done}" if done else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _summary(statement: str) -> str:
    line = " ".join(statement.split())
    return line if len(line) <= 60 else line[:59] + "…"
