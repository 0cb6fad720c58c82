"""`penstock resume`: schedulers start refreshes again after `penstock pause`."""

from __future__ import annotations

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, Warehouse


def resume(ctx: typer.Context, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Let schedulers start refreshes again after `penstock pause`.

    To resume one suspended stream table: penstock alter NAME --resume.

    \b
    Examples:
      penstock resume
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        command.tables.resume()
        if as_json:
            command.document({"paused": False})
            return
        command.print("schedulers go on")
