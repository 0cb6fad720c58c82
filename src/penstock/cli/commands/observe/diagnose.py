"""`penstock diagnose`: why a stream table is stale, and what to do. Stale, or soon to be, is exit code 1."""

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

    Looks at the catalog, the logs of the tables and the scheduler; nothing is computed and nothing is changed.
    One that is stale, or at risk to be soon, is exit code 1; one whose sources have not changed since is neither.

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
