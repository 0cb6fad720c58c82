"""`penstock status`: every stream table in one line, with what is wrong with it below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import format_duration, format_moment
from penstock.cli.render.no_stream_tables import no_stream_tables

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.cli.context.stream_tables import CommandTables
    from penstock.monitor.stats import StatsRow
    from penstock.monitor.status import StatusRow


Row = TypeVar("Row", "StatusRow", "StatsRow")


def status(ctx: typer.Context, name: OptionalName = None, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Show how fresh every stream table is.

    \b
    Examples:
      penstock status
      penstock status --json
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        rows = command.tables.status()
        if name is not None:
            rows = rows_named(command.tables, rows, name)
        if as_json:
            command.document(rows)
            return
        if not rows:
            command.print(no_stream_tables(command.tables))
            return
        command.print(status_table(rows))
        for row in rows:
            if row.blocked_by:
                command.print(f"{row.name}: waits for {', '.join(row.blocked_by)}")
            if row.last_error:
                command.print(f"{row.name}: {_failed(row.errors)}: {row.last_error}")
        if any(row.blocked_by or row.last_error for row in rows):
            command.print("what to do: penstock diagnose NAME")
        if command.tables.is_paused():
            command.print("paused: schedulers start no refresh; go on with: penstock resume")


def status_table(rows: Sequence[StatusRow]) -> Table:
    """A line per stream table; a lag beyond its target is red."""
    from rich.text import Text

    from penstock.cli.render.tables import table

    titles = ("name", "status", "mode", "lag", "target", "last refresh (UTC)")
    return table(
        list(zip(titles, ("", "keep", "", "right", "right", "keep"), strict=True)),
        (
            (
                str(row.name),
                "BLOCKED" if row.blocked_by and row.status == "ACTIVE" else str(row.status),
                _mode(row),
                Text(format_duration(row.current_lag), style="red" if row.lag_exceeded else ""),
                row.target_lag,
                format_moment(row.last_refresh),
            )
            for row in rows
        ),
    )


def rows_named(tables: CommandTables, rows: Sequence[Row], name: str) -> list[Row]:
    """The row of that name; `StreamTableNotFound` if there is none."""
    from penstock.errors import StreamTableNotFound
    from penstock.lang.unknown_name import LOST, what_was_meant
    from penstock.names import TableName

    wanted = TableName.parse(name)
    found = [row for row in rows if TableName.parse(str(row.name)) == wanted]
    if not found:
        known = [TableName.parse(str(row.name)) for row in rows]
        lost = str(wanted) in tables.lost()
        raise StreamTableNotFound(name=wanted, nearest=LOST if lost else what_was_meant(name, wanted, known))
    return found


def _failed(errors: int) -> str:
    # An error that may pass is not counted.
    return f"{errors} errors in a row, the last" if errors > 1 else "its last refresh failed"


def _mode(row: StatusRow) -> str:
    asked, really = str(row.refresh_mode), row.effective_mode
    return asked if really is None or str(really) == asked else f"{asked} → {really}"
