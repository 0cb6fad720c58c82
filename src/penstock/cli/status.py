"""`penstock status`: every stream table in one line, with what is wrong with it below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from penstock.cli.desk import looking
from penstock.cli.durations import moment, spoken
from penstock.cli.none_yet import none_yet
from penstock.cli.options import HERE, AsJson, OptionalName, Warehouse

if TYPE_CHECKING:
    from rich.table import Table


def status(ctx: typer.Context, name: OptionalName = None, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Show how fresh every stream table is.

    \b
    Examples:
      penstock status
      penstock status --json
    """
    with looking(ctx, warehouse, as_json) as desk:
        rows = desk.tables.status()
        if name is not None:
            rows = one_of(desk.tables, rows, name)
        if as_json:
            desk.document(rows)
            return
        if not rows:
            desk.print(none_yet(desk.tables))
            return
        desk.print(status_table(rows))
        for row in rows:
            if row.blocked_by:
                desk.print(f"{row.name}: waits for {', '.join(row.blocked_by)}")
            if row.last_error:
                desk.print(f"{row.name}: {_failed(row.errors)}: {row.last_error}")
        if any(row.blocked_by or row.last_error for row in rows):
            desk.print("what to do: penstock diagnose NAME")
        if desk.tables.is_paused():
            desk.print("paused: nothing is refreshed by itself; go on with: penstock resume")


def status_table(rows: Sequence[Any]) -> Table:
    """The overview; a broken promise is red."""
    from rich.text import Text

    from penstock.cli.tables import table

    titles = ("name", "status", "mode", "lag", "target", "last refresh (UTC)")
    return table(
        list(zip(titles, ("", "keep", "", "right", "right", "keep"), strict=True)),
        (
            (
                str(row.name),
                "BLOCKED" if row.blocked_by and row.status == "ACTIVE" else str(row.status),
                _mode(row),
                Text(spoken(row.current_lag), style="red" if row.lag_exceeded else ""),
                _target(row),
                moment(row.last_refresh),
            )
            for row in rows
        ),
    )


def one_of(tables: Any, rows: Sequence[Any], name: str) -> list[Any]:
    """The row of that name, or the error that there is none; `tables` is the opened warehouse."""
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


def _mode(row: Any) -> str:
    asked, really = str(row.refresh_mode), row.effective_mode
    return asked if really is None or str(really) == asked else f"{asked} → {really}"


def _target(row: Any) -> str:
    if row.target_lag is not None:
        return spoken(row.target_lag)
    return "DOWNSTREAM" if row.effective_lag is None else f"↓ {spoken(row.effective_lag)}"
