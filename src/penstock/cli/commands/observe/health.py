"""`penstock health`: whether anything needs a person; the exit code tells scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import format_moment

if TYPE_CHECKING:
    from penstock.monitor.health import SchedulerHealth


def health(ctx: typer.Context, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Say whether anything needs attention.

    It checks the catalog, the scheduler, and which stream tables are stopped or late. If something needs attention,
    the exit code is 1.

    \b
    Examples:
      penstock health
      penstock health --json
    """
    with opened_lazily(ctx, warehouse, as_json, names_lost=True) as command:
        found = command.tables.health()
        if as_json:
            command.document(found)
        else:
            command.print(f"{found.stream_tables} stream tables, {_scheduler(found.scheduler)}")
            for problem in found.problems:
                command.print(f"✗ {problem}")
            command.print("✓ healthy" if found.healthy else "what to do: penstock diagnose NAME")
        if not found.healthy:
            raise typer.Exit(1)


def _scheduler(scheduler: SchedulerHealth) -> str:
    if scheduler.holder is None:
        text = "no scheduler"
    else:
        text = f"scheduler {scheduler.holder}, last heard of at {format_moment(scheduler.renewed_at)} UTC"
    return text + (", paused" if scheduler.paused else "")
