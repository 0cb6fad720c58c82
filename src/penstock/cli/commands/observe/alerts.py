"""`penstock alerts`: lags, failures, suspensions and changes of mode, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import format_moment

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.catalog.model import Alert


def alerts(
    ctx: typer.Context,
    name: OptionalName = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Show at most this many.")] = 20,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Show the latest alerts: lags, failures, suspensions, changes of mode.

    \b
    Examples:
      penstock alerts
      penstock alerts revenue -n 5
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        found = command.tables.alerts(name, max_rows=limit)
        if as_json:
            command.document(found)
            return
        if not found:
            command.print("there are no alerts")
            return
        from penstock.cli.render.tables import table

        columns = [("at (UTC)", "keep"), ("name", ""), ("event", "keep"), ("facts", "")]
        lines = [(format_moment(it.at), it.stream_table, _event(it), _facts(it)) for it in found]
        command.print(table(columns, lines))


def _event(alert: Alert) -> Text:
    from rich.text import Text

    return Text(alert.event.value, style="green" if alert.event.is_good_news else "yellow")


def _facts(alert: Alert) -> str:
    from penstock.cli.render.tables import as_text, one_line

    return "  ".join(f"{name}={one_line(as_text(value))}" for name, value in alert.facts.items() if value is not None)
