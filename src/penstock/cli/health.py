"""`penstock health`: whether anything needs a person; the exit code says it to scripts."""

from __future__ import annotations

from typing import Any

import typer

from penstock.cli.desk import looking
from penstock.cli.durations import moment
from penstock.cli.options import HERE, AsJson, Warehouse


def health(ctx: typer.Context, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Say whether anything needs attention; exit code 1 if so.

    Looks at the catalog, the scheduler, and stream tables that are stopped or late.

    \b
    Examples:
      penstock health
      penstock health --json
    """
    with looking(ctx, warehouse, as_json, tells_lost=True) as desk:
        found = desk.tables.health()
        if as_json:
            desk.document(found)
        else:
            desk.print(f"{found.stream_tables} stream tables, {_scheduler(found.scheduler)}")
            for problem in found.problems:
                desk.print(f"✗ {problem}")
            desk.print("✓ healthy" if found.healthy else "what to do: penstock diagnose NAME")
        if not found.healthy:
            raise typer.Exit(1)


def _scheduler(scheduler: Any) -> str:
    if scheduler.holder is None:
        told = "no scheduler"
    else:
        told = f"scheduler {scheduler.holder}, last heard of at {moment(scheduler.renewed_at)} UTC"
    return told + (", paused" if scheduler.paused else "")
