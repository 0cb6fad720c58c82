"""`penstock stats`: what every stream table has done so far."""

from __future__ import annotations

import typer

from penstock.cli.commands.observe.status import one_of
from penstock.cli.context.command_context import looking
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import spoken
from penstock.cli.render.no_stream_tables import none_yet


def stats(ctx: typer.Context, name: OptionalName = None, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Show the totals of every stream table: refreshes, rows, errors, lag.

    \b
    Examples:
      penstock stats
      penstock stats revenue --json
    """
    with looking(ctx, warehouse, as_json) as desk:
        rows = desk.tables.stats()
        if name is not None:
            rows = one_of(desk.tables, rows, name)
        if as_json:
            desk.document(rows)
            return
        if not rows:
            desk.print(none_yet(desk.tables))
            return
        from penstock.cli.render.tables import table

        titles = ("name", "refreshes", "took", "+rows", "−rows", "skips", "errors", "last lag", "max lag")
        desk.print(
            table(
                [(title, "right" if number else "") for number, title in enumerate(titles)],
                (
                    (
                        row.name,
                        row.refresh_count,
                        spoken(row.total_refresh_duration_ms / 1000),
                        row.rows_inserted_total,
                        row.rows_deleted_total,
                        row.skip_count,
                        row.error_count,
                        spoken(row.last_lag_ms / 1000),
                        spoken(row.max_lag_ms / 1000),
                    )
                    for row in rows
                ),
            )
        )
