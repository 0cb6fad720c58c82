"""`penstock audit`: prove that the stored rows are the query's rows. A difference is exit code 1."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.context.command_context import Desk, opened
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import spoken


def audit(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The stream tables.", show_default=False)],
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Compare stream tables with a recomputation.

    The query is computed at the same frontier and compared row by row, duplicates included.

    \b
    Examples:
      penstock audit revenue
      penstock audit revenue top_customers --json
    """
    with opened(ctx, warehouse, as_json) as desk:
        reports = []
        for name in names:
            with desk.working(f"recomputing {name}…"):
                report = desk.tables.audit(name)
            reports.append(report)
            if not as_json:
                _tell(desk, report)
        if as_json:
            desk.document(reports)
        if not all(report.exact for report in reports):
            raise typer.Exit(1)


def _tell(desk: Desk, report: Any) -> None:
    if report.exact:
        desk.print(f"{report.name}: exact ({spoken(report.seconds)})")
        return
    rows = f"missing rows: {report.missing_rows}, rows too many: {report.extra_rows}"
    desk.print(f"{report.name}: NOT EXACT, {rows} ({spoken(report.seconds)})")
    for sample in report.samples or ():
        desk.print(f"  {sample}")
