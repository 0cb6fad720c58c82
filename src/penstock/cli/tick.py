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
    with opened(ctx, warehouse, as_json, goes_on=True) as desk:
        began = datetime.now(UTC)
        with desk.working("looking for what is due…"):
            results = desk.tables.tick(at)
        failed = _failed(desk.tables, began)
        if as_json:
            desk.document(results)
        elif results:
            desk.print(_shown(results))
        elif not failed:
            paused = desk.tables.health().scheduler.paused
            desk.print("paused; go on with: penstock resume" if paused else "nothing is due")
        if failed:
            raise typer.Exit(1)


def _failed(tables: Any, began: datetime) -> bool:
    """True if a refresh of this process has failed since then; the log has told of it."""
    from penstock.catalog.model import RefreshStatus
    from penstock.catalog.owner import current_owner

    return any(
        it.status is RefreshStatus.FAILED and it.owner == current_owner() and it.ended_at >= began
        for it in tables.history(max_rows=1000)
    )


def _shown(results: Sequence[Any]) -> Table:
    from penstock.cli.tables import table

    titles = ("name", "action", "+rows", "−rows", "took", "reason")
    return table(
        list(zip(titles, ("", "keep", "right", "right", "right", ""), strict=True)),
        (
            (it.name, it.action, it.rows_inserted, it.rows_deleted, spoken(it.seconds), it.reason or "")
            for it in results
        ),
    )
