"""`penstock tick`: let the scheduler look once: refresh what is due, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.desk import opened
from penstock.cli.durations import spoken
from penstock.cli.options import HERE, AsJson, Warehouse

if TYPE_CHECKING:
    from rich.table import Table


def tick(
    ctx: typer.Context,
    now: Annotated[
        datetime | None,
        typer.Option(
            "--now",
            formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"],
            help="Pretend that it is this moment (UTC unless it says otherwise).",
            show_default=False,
        ),
    ] = None,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Refresh every stream table that is due, once. Made for cron: a failed refresh is exit code 1.

    \b
    Examples:
      penstock tick
      penstock tick --json
    """
    at = now.replace(tzinfo=UTC) if now is not None and now.tzinfo is None else now
    with opened(ctx, warehouse, as_json) as desk:
        with desk.working("looking for what is due…"):
            results = desk.tables.tick(at)
        if as_json:
            desk.document(results)
        elif results:
            desk.print(_shown(results))
        elif desk.tables.is_paused():
            desk.print("paused; go on with: penstock resume")
        else:
            desk.print("nothing is due")
        if any(it.error is not None for it in results):
            raise typer.Exit(1)


def _shown(results: Sequence[Any]) -> Table:
    from penstock.cli.tables import table

    titles = ("name", "action", "+rows", "−rows", "took", "reason")
    return table(
        list(zip(titles, ("", "keep", "right", "right", "right", ""), strict=True)),
        (
            (it.name, it.action, it.rows_inserted, it.rows_deleted, spoken(it.seconds), it.reason or "")
            if it.error is None
            else (it.name, "FAILED", "", "", "", f"{it.error.condition}: {it.error.text}")
            for it in results
        ),
    )
