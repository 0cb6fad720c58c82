"""`penstock pause`: no scheduler of this catalog starts a refresh until `penstock resume`."""

from __future__ import annotations

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, Warehouse


def pause(ctx: typer.Context, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Keep all schedulers from starting refreshes.

    Running refreshes end, and `penstock refresh` still works.

    \b
    Examples:
      penstock pause
      penstock resume
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        command.tables.pause()
        if as_json:
            command.document({"paused": True})
            return
        command.print("paused; go on with: penstock resume")
