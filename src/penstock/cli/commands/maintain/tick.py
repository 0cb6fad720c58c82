"""`penstock tick`: refresh what is due now, once, as the scheduler would."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from penstock.cli.commands.maintain.refresh import results_table
from penstock.cli.context.command_context import opened
from penstock.cli.context.options import HERE, AsJson, Warehouse


def tick(
    ctx: typer.Context,
    now: Annotated[
        datetime | None,
        typer.Option(
            "--now",
            formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"],
            help="Act for this moment instead of now; UTC without an offset.",
            show_default=False,
        ),
    ] = None,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Refresh every stream table that is due, once.

    Made for cron: if a refresh fails, the exit code is 1.

    \b
    Examples:
      penstock tick
      penstock tick --json
    """
    at = now.replace(tzinfo=UTC) if now is not None and now.tzinfo is None else now
    with opened(ctx, warehouse, as_json) as command:
        with command.working("looking for what is due…"):
            results = command.tables.tick(at)
        if as_json:
            command.document(results)
        elif results:
            command.print(results_table(results))
        elif command.tables.is_paused():
            command.print("paused; go on with: penstock resume")
        else:
            command.print("nothing is due")
        if any(it.error is not None for it in results):
            raise typer.Exit(1)
