"""`penstock history`: what refreshes really did, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from penstock.cli.context.command_context import looking
from penstock.cli.context.options import HERE, AsJson, OptionalName, Warehouse
from penstock.cli.render.durations import moment, spoken


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
    with looking(ctx, warehouse, as_json) as desk:
        records = desk.tables.history(name, max_rows=limit)
        if as_json:
            desk.document(records)
            return
        if not records:
            desk.print("nothing has been refreshed yet")
            return
        from penstock.cli.render.tables import one_line, table
        from penstock.compile.reasons import without_link

        if timings:
            desk.print(table(*_timings(records)))
            desk.print("stages in milliseconds")
            return
        titles = ["started (UTC)", "name", "action", "+", "−", "read", "took", "reason"]
        manners = ["keep", "", "keep", "right", "right", "right", "right", ""]
        lines = [
            (
                moment(it.started_at),
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
        desk.print(table(list(zip(titles, manners, strict=True)), lines))


def _timings(records: Sequence[Any]) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    """Milliseconds per stage; a stage that nobody went through has no column."""
    # Who went through most stages shows their order best.
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


def _action(record: Any) -> Any:
    """What ran, and how it ended if it did not end well."""
    from penstock.cli.render.tables import cell

    ended = str(record.status)
    return cell(str(record.action)) if ended == "COMPLETED" else cell(ended).append(f" {record.action}")


def _took(record: Any) -> str:
    return spoken(record.ended_at - record.started_at) if record.ended_at is not None else "…"
