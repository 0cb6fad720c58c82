"""`penstock diagnose`: why a stream table is stale, and what to do. If it is, or soon will be, the exit code is 1."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, Warehouse


def diagnose(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The stream tables.", show_default=False)],
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Say in plain words why a stream table is stale, and what to do.

    It reads the catalog, the logs of the tables and the state of the scheduler; it computes no rows and changes
    nothing. If a stream table is stale, or soon will be, the exit code is 1. If its sources have not changed since its
    last refresh, it is fresh.

    \b
    Examples:
      penstock diagnose revenue
      penstock diagnose revenue top_customers --json
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        found = [command.tables.diagnose(name) for name in names]
        if as_json:
            command.document(found)
        else:
            command.print("\n".join(each.text() for each in found).rstrip("\n"))
        if any(each.at_risk or not each.fresh for each in found):
            raise typer.Exit(1)
