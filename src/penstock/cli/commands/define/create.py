"""`penstock create`: define a stream table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.context.command_context import CommandContext, opened, opened_lazily, reporting_errors
from penstock.cli.context.consent import Yes, confirm, confirm_if_refused
from penstock.cli.context.options import HERE, AsJson, Lag, Mode, Name, QueryFile, Warehouse, lag_value, read_query
from penstock.settings import DEFAULT_LAG

if TYPE_CHECKING:
    from penstock.ddl.outcome import StreamTableInfo


def create(
    ctx: typer.Context,
    name: Name,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="The query that defines it.", show_default=False)
    ] = None,
    file: QueryFile = None,
    lag: Lag = DEFAULT_LAG,
    mode: Mode = "AUTO",
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="Columns that identify a row; repeat it.", show_default=False),
    ] = None,
    on_schedule: Annotated[
        bool, typer.Option("--on-schedule", help="Leave it empty; the first refresh fills it.")
    ] = False,
    or_replace: Annotated[
        bool, typer.Option("--or-replace", help="Replace the stream table of that name; asks first.")
    ] = False,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Do nothing if it exists.")] = False,
    yes: Yes = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Create a stream table and fill it.

    \b
    Examples:
      penstock create revenue "SELECT region, sum(amount) AS total FROM orders GROUP BY region"
      penstock create revenue -f revenue.sql --lag "5 minutes" --mode INCREMENTAL
      penstock create per_day -f per_day.sql --lag DOWNSTREAM --key day
    """
    text = read_query(query, file)
    if text is None:
        raise typer.BadParameter("give the query as an argument or with --file")
    if or_replace and if_not_exists:
        raise typer.BadParameter("--or-replace and --if-not-exists exclude each other")
    with reporting_errors(as_json):
        from penstock.lang import check_query

        checked = check_query(text)
    if or_replace:
        with opened_lazily(ctx, warehouse, as_json) as command:
            if _exists(command, name):
                confirm(f"Replace the definition of {name}, and compute its rows anew?", yes=yes, as_json=as_json)
    with opened(ctx, warehouse, as_json) as command:

        def define(cascade: bool) -> StreamTableInfo:
            with command.working(f"creating {name}…") as progress:
                return command.tables.create_stream_table(
                    name,
                    checked,
                    target_lag=lag_value(lag or DEFAULT_LAG),
                    refresh_mode=(mode or "AUTO").upper(),
                    initialize=not on_schedule,
                    key=tuple(key) if key else None,
                    or_replace=or_replace,
                    if_not_exists=if_not_exists,
                    cascade=cascade,
                    progress=progress,
                )

        info = confirm_if_refused(define, yes=yes, as_json=as_json)
        if as_json:
            command.document(info)
            return
        filled = "will be filled by its first refresh" if on_schedule else "is filled"
        command.print(f"stream table {name} {filled if info.created else info.message}")
        if info.effective_mode:
            command.print(f"  maintained {info.effective_mode}" + (f": {info.reason}" if info.reason else ""))


def _exists(command: CommandContext, name: str) -> bool:
    from penstock.names import TableName

    return TableName.parse(name) in {TableName.parse(str(row.name)) for row in command.tables.status()}
