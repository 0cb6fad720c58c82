"""`penstock refresh`: bring stream tables up to now, their upstreams first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.context.command_context import Desk, opened
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import moment, spoken

if TYPE_CHECKING:
    from rich.table import Table


def refresh(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="The stream tables.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, except those that are suspended.")] = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Refresh stream tables now, and say what was done.

    The stream tables that they read are refreshed first. A suspended one that is named is refreshed and stays
    suspended. With --all, a failed refresh does not stop the others, and is exit code 1.

    \b
    Examples:
      penstock refresh revenue
      penstock refresh revenue top_customers --json
      penstock refresh --all
    """
    if every == bool(names):
        raise typer.BadParameter("give names of stream tables, or --all")
    with opened(ctx, warehouse, as_json) as desk:
        if every:
            _refresh_all(desk)
            return
        results = []
        for name in names or ():
            with desk.working(f"refreshing {name}…") as progress:
                result = desk.tables.refresh(name, progress=progress)
            results.append(result)
            if not as_json:
                print_result(desk, result)
        if as_json:
            desk.document(results)


def _refresh_all(desk: Desk) -> None:
    with desk.working("refreshing all stream tables…") as progress:
        results = desk.tables.refresh_all(progress=progress)
    if desk.as_json:
        desk.document(results)
    elif results:
        desk.print(results_table(results))
    else:
        desk.print("there is nothing to refresh: no stream tables, or all of them are suspended")
    if any(it.error is not None for it in results):
        raise typer.Exit(1)


def results_table(results: Sequence[Any]) -> Table:
    """Many refreshes, a line each; an error is told where the reason is."""
    from penstock.cli.render.tables import table

    titles = ("name", "action", "+rows", "−rows", "took", "reason")
    return table(
        list(zip(titles, ("", "keep", "right", "right", "right", ""), strict=True)),
        (
            (it.name, it.action, it.rows_inserted, it.rows_deleted, spoken(it.seconds), _why(it))
            if it.error is None
            else (it.name, "FAILED", "", "", "", f"{it.error.condition}: {it.error.text}")
            for it in results
        ),
    )


def _why(result: Any) -> str:
    from penstock.compile.reasons import without_link

    return f"{result.reason_code}: {without_link(result.reason)}" if result.reason else ""


def print_result(desk: Desk, result: Any, indent: str = "") -> None:
    """One refresh in two or three lines, upstreams before it."""
    for upstream in getattr(result, "upstream", None) or ():
        print_result(desk, upstream, indent + "  ")
    rows = f"+{result.rows_inserted} −{result.rows_deleted} rows" if _has_rows(result) else "no rows changed"
    version = f", version {result.version}" if result.version is not None else ""
    desk.print(f"{indent}{result.name}: {result.action}, {rows} in {spoken(result.seconds)}{version}")
    if result.reason:
        desk.print(f"{indent}  why: {result.reason}")
    if result.data_timestamp is not None:
        desk.print(f"{indent}  as of {moment(result.data_timestamp)} UTC")
    if result.timings:
        timings = " · ".join(f"{stage} {spoken(seconds)}" for stage, seconds in result.timings.items())
        desk.print(f"{indent}  {timings}")


def _has_rows(result: Any) -> bool:
    return bool(result.rows_inserted or result.rows_deleted)
