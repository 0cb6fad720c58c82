"""`penstock subscriptions`: durable subscriptions and how far each is behind."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.consent import Yes, confirm
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import format_moment


def subscriptions(
    ctx: typer.Context,
    drop: Annotated[
        str | None,
        typer.Option("--drop", metavar="NAME", help="Forget this subscription.", show_default=False),
    ] = None,
    yes: Yes = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """List durable subscriptions: what they read, and how many events they are behind.

    Changes that a subscription has not acknowledged are kept, and take room: drop subscriptions that are not in use.

    \b
    Examples:
      penstock subscriptions
      penstock subscriptions --drop mailer --yes
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        if drop is not None:
            confirm(f"Forget the subscription {drop}, and how far it has read?", yes=yes, as_json=as_json)
            command.tables.drop_subscription(drop)
            if as_json:
                command.document({"dropped": drop})
            else:
                command.print(f"dropped {drop}")
            return
        rows = command.tables.subscriptions()
        if as_json:
            command.document(rows)
            return
        if not rows:
            command.print("there are no durable subscriptions; make one with: penstock subscribe TABLE --durable NAME")
            return
        from penstock.cli.render.tables import table

        titles = ["name", "stream table", "LSN", "behind", "acknowledged (UTC)", "created (UTC)"]
        manners = ["", "", "right", "right", "keep", "keep"]
        lines = [
            (
                row.name,
                row.stream_table,
                "–" if row.acknowledged is None else row.acknowledged,
                "unknown" if row.behind is None else row.behind,
                format_moment(row.acknowledged_at),
                format_moment(row.created_at),
            )
            for row in rows
        ]
        command.print(table(list(zip(titles, manners, strict=True)), lines))
