"""`penstock audit`: prove that the stored rows are the query's rows; if they differ, the exit code is 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.context.command_context import CommandContext, opened
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.durations import format_duration

if TYPE_CHECKING:
    from penstock.reading.audit import AuditReport


def audit(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The stream tables.", show_default=False)],
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Compare stream tables with a recomputation.

    It runs the query at the same frontier and compares row by row, duplicates included. If rows differ, the exit code
    is 1.

    \b
    Examples:
      penstock audit revenue
      penstock audit revenue top_customers --json
    """
    with opened(ctx, warehouse, as_json) as command:
        reports = []
        for name in names:
            with command.working(f"recomputing {name}…"):
                report = command.tables.audit(name)
            reports.append(report)
            if not as_json:
                _print_report(command, report)
        if as_json:
            command.document(reports)
        if not all(report.exact for report in reports):
            raise typer.Exit(1)


def _print_report(command: CommandContext, report: AuditReport) -> None:
    if report.exact:
        command.print(f"{report.name}: exact ({format_duration(report.seconds)})")
        return
    from penstock.cli.render.tables import as_text

    rows = f"missing rows: {report.missing_rows}, rows too many: {report.extra_rows}"
    command.print(f"{report.name}: NOT EXACT, {rows} ({format_duration(report.seconds)})")
    for kind, row in report.samples:
        command.print(f"  {kind} ({', '.join(map(as_text, row.values()))})")
