"""`penstock tick`: let the scheduler look once: refresh what is due, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from penstock.cli.desk import opened
from penstock.cli.durations import spoken
from penstock.cli.options import HERE, AsJson, Warehouse


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
    """Refresh every stream table that is due, once. Made for cron.

    \b
    Examples:
      penstock tick
      penstock tick --json
    """
    at = now.replace(tzinfo=UTC) if now is not None and now.tzinfo is None else now
    with opened(ctx, warehouse, as_json, goes_on=True) as desk:
        with desk.working("looking for what is due…"):
            results = desk.tables.tick(at)
        if as_json:
            desk.document(results)
            return
        if not results:
            desk.print("nothing is due")
            return
        from penstock.cli.tables import table

        titles = ("name", "action", "+rows", "−rows", "took", "reason")
        desk.print(
            table(
                list(zip(titles, ("", "keep", "right", "right", "right", ""), strict=True)),
                (
                    (it.name, it.action, it.rows_inserted, it.rows_deleted, spoken(it.seconds), it.reason or "")
                    for it in results
                ),
            )
        )
