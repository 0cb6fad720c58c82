"""`penstock repair`: rebuild the catalog from what the tables themselves hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from penstock.cli.context.command_context import Output, openers, reporting_errors, require_warehouse
from penstock.cli.context.consent import Yes, confirm
from penstock.cli.context.options import HERE, AsJson, Warehouse

if TYPE_CHECKING:
    from penstock.ddl.repair import RepairReport


def repair(ctx: typer.Context, yes: Yes = False, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Rebuild the catalog from the tables themselves.

    It also closes refreshes that a crash left open, and reports what it found. Every stream table holds its own
    definition and frontier, so a lost catalog loses no data. If the catalog is broken, it asks, keeps it under another
    name, and makes a new one. It names stream tables that it cannot restore; the exit code is then 1.

    \b
    Examples:
      penstock repair
    """
    with reporting_errors(as_json):
        require_warehouse(warehouse)
        if (broken := openers(ctx).catalog_fault(warehouse)) is not None:
            question = f"The catalog cannot be used ({broken}). Keep it under another name, and make it anew?"
            confirm(question, yes=yes, as_json=as_json)
        output = Output(as_json)
        with output.working("comparing catalog and tables…"):
            report = openers(ctx).repair(warehouse)
        if as_json:
            output.document(report)
            _exit_if_missing(report)
            return
        for line in report.lines:
            output.print(str(line))
        if not report.lines:
            output.print("nothing to repair")
        if report.gone:
            output.print("not in the tables, and therefore gone:")
            for each in report.gone:
                output.print(f"  {each}")
        if report.missing:
            output.print(f"still missing: {', '.join(report.missing)}")
        _exit_if_missing(report)


def _exit_if_missing(report: RepairReport) -> None:
    if report.missing:
        raise typer.Exit(1)
