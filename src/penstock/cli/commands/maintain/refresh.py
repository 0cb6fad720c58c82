"""`penstock refresh`: bring stream tables up to now, their upstreams first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.context.command_context import CommandContext, opened
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import format_duration, format_moment

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.refresh.result import RefreshResult


def refresh(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="The stream tables.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All stream tables that are not suspended.")] = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Refresh stream tables now, and say what each refresh did.

    The stream tables that they read come first. A suspended stream table that you name is refreshed and stays
    suspended. With --all, a failed refresh does not stop the others; the exit code is then 1.

    \b
    Examples:
      penstock refresh revenue
      penstock refresh revenue top_customers --json
      penstock refresh --all
    """
    if every == bool(names):
        raise typer.BadParameter("give names of stream tables, or --all")
    with opened(ctx, warehouse, as_json) as command:
        if every:
            _refresh_all(command)
            return
        results = []
        for name in names or ():
            with command.working(f"refreshing {name}…") as progress:
                result = command.tables.refresh(name, progress=progress)
            results.append(result)
            if not as_json:
                print_result(command, result)
        if as_json:
            command.document(results)


def _refresh_all(command: CommandContext) -> None:
    with command.working("refreshing all stream tables…") as progress:
        results = command.tables.refresh_all(progress=progress)
    if command.as_json:
        command.document(results)
    elif results:
        command.print(results_table(results))
    else:
        command.print("there is nothing to refresh: no stream tables, or all of them are suspended")
    if any(it.error is not None for it in results):
        raise typer.Exit(1)


def results_table(results: Sequence[RefreshResult]) -> Table:
    """Many refreshes, a line each; an error stands where the reason would."""
    from penstock.cli.render.tables import table

    titles = ("name", "action", "+rows", "−rows", "took", "reason")
    return table(
        list(zip(titles, ("", "keep", "right", "right", "right", ""), strict=True)),
        (
            (it.name, it.action, it.rows_inserted, it.rows_deleted, format_duration(it.seconds), _why(it))
            if it.error is None
            else (it.name, "FAILED", "", "", "", f"{it.error.condition}: {it.error.text}")
            for it in results
        ),
    )


def _why(result: RefreshResult) -> str:
    from penstock.compile.reasons import without_link

    return f"{result.reason_code}: {without_link(result.reason)}" if result.reason else ""


def print_result(command: CommandContext, result: RefreshResult, indent: str = "") -> None:
    """One refresh in two or three lines, upstreams before it."""
    for upstream in result.upstream:
        print_result(command, upstream, indent + "  ")
    rows = f"+{result.rows_inserted} −{result.rows_deleted} rows" if _has_rows(result) else "no rows changed"
    version = f", version {result.version}" if result.version is not None else ""
    command.print(f"{indent}{result.name}: {result.action}, {rows} in {format_duration(result.seconds)}{version}")
    if result.reason:
        command.print(f"{indent}  why: {result.reason}")
    if result.data_timestamp is not None:
        command.print(f"{indent}  as of {format_moment(result.data_timestamp)} UTC")
    if result.timings:
        timings = " · ".join(f"{stage} {format_duration(seconds)}" for stage, seconds in result.timings.items())
        command.print(f"{indent}  {timings}")


def _has_rows(result: RefreshResult) -> bool:
    return bool(result.rows_inserted or result.rows_deleted)
