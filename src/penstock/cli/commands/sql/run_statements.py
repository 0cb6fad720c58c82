"""Run the statements of scripts one by one, and print each result for a person, or all of them as one document."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from penstock.cli.commands.changes.follow import follow
from penstock.cli.context import failure
from penstock.cli.context.command_context import Desk
from penstock.cli.context.consent import all_the_same
from penstock.cli.render.durations import spoken

if TYPE_CHECKING:
    from penstock.lang.script import Step

_AFFECTED = "num_affected_rows"


def run_all(desk: Desk, steps: Sequence[Step], limit: int, yes: bool) -> None:
    """Run statements in order until one fails; what ran before it has happened, and is told with the error."""
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
        except Exception as error:
            if not desk.as_json:
                if len(steps) > 1 or step.file:
                    error.add_note(half_way(steps, at))
                raise
            document = {"results": results, "error": failure.told(error), "failed": step.to_json()}
            desk.document({**document, "not_run": [later.to_json() for later in steps[at + 1 :]]})
            raise typer.Exit(1) from None
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
    from penstock.cli.render.answers import answer_table
    from penstock.cli.render.tables import console, print_rows

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
    if result["message"]:
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
