"""`penstock repair`: make the catalog agree with what the tables themselves say."""

from __future__ import annotations

import typer

from penstock.cli.desk import opened
from penstock.cli.options import HERE, AsJson, Warehouse


def repair(ctx: typer.Context, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Rebuild the catalog from the tables themselves.

    Also closes what a crash left open, and says what was found. Every stream table carries its own definition and
    frontier, so a lost catalog is no lost data.

    \b
    Examples:
      penstock repair
    """
    with opened(ctx, warehouse, as_json) as desk:
        with desk.working("comparing catalog and tables…"):
            report = desk.tables.repair()
        if as_json:
            desk.document(report)
            return
        for line in report.lines:
            desk.print(str(line))
        if not report.lines:
            desk.print("nothing to repair")
