"""`penstock alerts`: what happened that somebody should know, newest first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.context.command_context import looking
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import moment


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
    with looking(ctx, warehouse, as_json) as desk:
        found = desk.tables.alerts(name, max_rows=limit)
        if as_json:
            desk.document(found)
            return
        if not found:
            desk.print("there are no alerts")
            return
        from penstock.cli.render.tables import table

        columns = [("at (UTC)", "keep"), ("name", ""), ("event", "keep"), ("facts", "")]
        lines = [(moment(it.at), it.stream_table, _event(it), _facts(it)) for it in found]
        desk.print(table(columns, lines))


def _event(alert: Any) -> Any:
    from rich.text import Text

    return Text(alert.event.value, style="green" if alert.event.is_good_news else "yellow")


def _facts(alert: Any) -> str:
    from penstock.cli.render.tables import one_line, shown

    return "  ".join(f"{name}={one_line(shown(value))}" for name, value in alert.facts.items() if value is not None)
