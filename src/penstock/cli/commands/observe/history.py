"""`penstock history`: what refreshes really did, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import format_duration, format_moment

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.catalog.model import RefreshRecord


def history(
    ctx: typer.Context,
    name: OptionalName = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Show at most this many.")] = 20,
    timings: Annotated[bool, typer.Option("--timings", help="Show where the time went, stage by stage.")] = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Show the latest refreshes: what ran, why, and how long.

    \b
    Examples:
      penstock history
      penstock history revenue -n 5
      penstock history revenue --timings
    """
    with opened_lazily(ctx, warehouse, as_json) as command:
        records = command.tables.history(name, max_rows=limit)
        if as_json:
            command.document(records)
            return
        if not records:
            command.print("nothing has been refreshed yet")
            return
        from penstock.cli.render.tables import one_line, table
        from penstock.compile.reasons import without_link

        if timings:
            command.print(table(*_timings(records)))
            command.print("stages in milliseconds")
            return
        titles = ["started (UTC)", "name", "action", "+", "−", "read", "took", "reason"]
        manners = ["keep", "", "keep", "right", "right", "right", "right", ""]
        lines = [
            (
                format_moment(it.started_at),
                str(it.name),
                _action(it),
                it.rows_inserted,
                it.rows_deleted,
                "" if it.rows_read is None else it.rows_read,
                _took(it),
                one_line(it.error_message or without_link(it.reason or "")),
            )
            for it in records
        ]
        command.print(table(list(zip(titles, manners, strict=True)), lines))


def _timings(records: Sequence[RefreshRecord]) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    """Milliseconds per stage; a stage that no refresh went through has no column."""
    # The refresh with most stages shows their order best.
    by_length = sorted(records, key=lambda it: -len(it.timings))
    stages = list(dict.fromkeys(stage for it in by_length for stage in it.timings))
    lines = [
        (
            f"{it.started_at:%m-%d %H:%M:%S}",
            str(it.name),
            str(it.action),
            *("" if stage not in it.timings else f"{it.timings[stage] * 1000:.0f}" for stage in stages),
        )
        for it in records
    ]
    columns = [("started", "keep"), ("name", ""), ("action", ""), *((stage, "right") for stage in stages)]
    return columns, lines


def _action(record: RefreshRecord) -> Text:
    """What ran, and how it ended if it did not end well."""
    from penstock.cli.render.tables import cell

    ended = str(record.status)
    return cell(str(record.action)) if ended == "COMPLETED" else cell(ended).append(f" {record.action}")


def _took(record: RefreshRecord) -> str:
    return format_duration(record.ended_at - record.started_at) if record.ended_at is not None else "…"
