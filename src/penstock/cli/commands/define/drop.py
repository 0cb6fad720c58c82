"""`penstock drop`: remove stream tables with their rows and history."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.context.command_context import opened, opened_lazily
from penstock.cli.context.consent import Yes, confirm
from penstock.cli.context.options import HERE, AsJson, Name, Warehouse


def drop(
    ctx: typer.Context,
    name: Name,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Do nothing if it does not exist.")] = False,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also drop the stream tables that read it.")] = False,
    yes: Yes = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Drop a stream table, its stored rows and its history. It asks first.

    Sources stay.

    \b
    Examples:
      penstock drop revenue
      penstock drop revenue --cascade --yes
    """
    readers = " and everything that reads it" if cascade else ""
    with opened_lazily(ctx, warehouse, as_json):
        confirm(f"Drop {name}{readers}, with all stored rows?", yes=yes, as_json=as_json)
    with opened(ctx, warehouse, as_json) as command:
        with command.working(f"dropping {name}…"):
            dropped = command.tables.drop_stream_table(name, if_exists=if_exists, cascade=cascade)
        if as_json:
            command.document({"dropped": dropped})
        elif dropped:
            command.print("dropped " + ", ".join(map(str, dropped)))
        else:
            command.print(f"there was no stream table {name}")
