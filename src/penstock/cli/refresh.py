"""`penstock refresh`: bring stream tables up to now, their upstreams first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.desk import Desk, opened
from penstock.cli.durations import moment, spoken
from penstock.cli.options import HERE, AsJson, Warehouse


def refresh(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The stream tables.", show_default=False)],
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Refresh stream tables now, and say what was done.

    The stream tables that they read are refreshed first. A suspended one is refreshed and stays suspended.

    \b
    Examples:
      penstock refresh revenue
      penstock refresh revenue top_customers --json
    """
    with opened(ctx, warehouse, as_json) as desk:
        results = []
        for name in names:
            with desk.working(f"refreshing {name}…") as progress:
                result = desk.tables.refresh(name, progress=progress)
            results.append(result)
            if not as_json:
                print_result(desk, result)
        if as_json:
            desk.document(results)


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
