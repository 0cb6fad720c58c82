"""`penstock versions`: what each version of a stream table shows."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, Name, Warehouse
from penstock.cli.render.durations import format_moment


def versions(
    ctx: typer.Context,
    name: Name,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Show at most this many.")] = 20,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Show the data timestamp and the source versions behind each version of a stream table.

    \b
    Examples:
      penstock versions revenue
      penstock versions revenue -n 1 --json
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        versions = command.tables.versions(name, limit)
        if as_json:
            command.document(versions)
            return
        if not versions:
            command.print("no refresh has filled it yet")
            return
        from penstock.cli.render.tables import table

        titles = ("version", "shows (UTC)", "action", "+rows", "−rows", "of")
        command.print(
            table(
                list(zip(titles, ("right", "keep", "keep", "right", "right", ""), strict=True)),
                (
                    (
                        it.version,
                        format_moment(it.data_timestamp),
                        it.action,
                        it.rows_inserted,
                        it.rows_deleted,
                        ", ".join(f"{source}@{at}" for source, at in {**it.bases, **it.sources}.items()),
                    )
                    for it in versions
                ),
            )
        )
