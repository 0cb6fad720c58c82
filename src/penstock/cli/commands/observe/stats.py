"""`penstock stats`: what every stream table has done so far."""

from __future__ import annotations

import typer

from penstock.cli.commands.observe.status import rows_named
from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import format_duration
from penstock.cli.render.no_stream_tables import no_stream_tables


def stats(ctx: typer.Context, name: OptionalName = None, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Show the totals of every stream table: refreshes, rows, errors, lag.

    \b
    Examples:
      penstock stats
      penstock stats revenue --json
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        rows = command.tables.stats()
        if name is not None:
            rows = rows_named(command.tables, rows, name)
        if as_json:
            command.document(rows)
            return
        if not rows:
            command.print(no_stream_tables(command.tables))
            return
        from penstock.cli.render.tables import table

        titles = ("name", "refreshes", "took", "+rows", "−rows", "skips", "errors", "last lag", "max lag")
        command.print(
            table(
                [(title, "right" if number else "") for number, title in enumerate(titles)],
                (
                    (
                        row.name,
                        row.refresh_count,
                        format_duration(row.total_refresh_duration_ms / 1000),
                        row.rows_inserted_total,
                        row.rows_deleted_total,
                        row.skip_count,
                        row.error_count,
                        format_duration(row.last_lag_ms / 1000),
                        format_duration(row.max_lag_ms / 1000),
                    )
                    for row in rows
                ),
            )
        )
