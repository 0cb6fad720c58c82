"""`penstock alter`: change what was defined. Only what is named changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.context.command_context import opened, opened_lazily, reporting_errors
from penstock.cli.context.consent import Yes, confirm, confirm_if_refused
from penstock.cli.context.options import HERE, AsJson, Lag, Mode, Name, QueryFile, Warehouse, lag_value, read_query

if TYPE_CHECKING:
    from penstock.ddl.outcome import StreamTableInfo


def alter(
    ctx: typer.Context,
    name: Name,
    lag: Lag = None,
    mode: Mode = None,
    suspend: Annotated[bool, typer.Option("--suspend", help="Stop refreshing it on schedule.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Refresh it on schedule again, and forget its errors.")
    ] = False,
    query: Annotated[
        str | None, typer.Option("--query", metavar="QUERY", help="A new defining query.", show_default=False)
    ] = None,
    file: QueryFile = None,
    yes: Yes = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Change lag, mode or query of a stream table, or suspend it.

    It asks before it replaces the query, and asks again if other stream tables could then no longer read this one.

    \b
    Examples:
      penstock alter revenue --lag "10 minutes"
      penstock alter revenue --suspend
      penstock alter revenue -f revenue.sql --yes
    """
    if suspend and resume:
        raise typer.BadParameter("--suspend and --resume exclude each other")
    changes: dict[str, Any] = {}
    if lag is not None:
        changes["target_lag"] = lag_value(lag)
    if mode is not None:
        changes["refresh_mode"] = mode.upper()
    if suspend or resume:
        changes["status"] = "SUSPENDED" if suspend else "ACTIVE"
    text = read_query(query, file)
    if text is not None:
        with reporting_errors(as_json):
            from penstock.lang import check_query

            changes["query"] = check_query(text)
    if not changes:
        raise typer.BadParameter("nothing to change: give --lag, --mode, --suspend, --resume, --query or --file")
    if "query" in changes:
        with opened_lazily(ctx, warehouse, as_json):
            confirm(f"Give {name} another query, and compute its rows anew?", yes=yes, as_json=as_json)
    with opened(ctx, warehouse, as_json) as command:

        def change(cascade: bool) -> StreamTableInfo:
            given = {**changes, "cascade": cascade} if "query" in changes else changes
            with command.working(f"changing {name}…"):
                return command.tables.alter_stream_table(name, **given)

        altered = confirm_if_refused(change, yes=yes, as_json=as_json)
        if as_json:
            command.document(altered)
        else:
            command.print(f"stream table {altered.name} {altered.message}")
