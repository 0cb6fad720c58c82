"""`penstock repair`: make the catalog agree with what the tables themselves say."""

from __future__ import annotations

from typing import Any

import typer

from penstock.cli.context.command_context import Desk, failing, openers, require_warehouse
from penstock.cli.context.consent import Yes, agree
from penstock.cli.context.options import HERE, AsJson, Warehouse


def repair(ctx: typer.Context, yes: Yes = False, warehouse: Warehouse = HERE, as_json: AsJson = False) -> None:
    """Rebuild the catalog from the tables themselves.

    Also closes what a crash left open, and says what was found. Every stream table carries its own definition and
    frontier, so a lost catalog is no lost data. A catalog that cannot be used is kept under another name, after asking,
    and made anew. Stream tables that could not be put back are named, and are exit code 1.

    \b
    Examples:
      penstock repair
    """
    with failing(as_json):
        require_warehouse(warehouse)
        if (broken := openers(ctx).fault(warehouse)) is not None:
            question = f"The catalog cannot be used ({broken}). Keep it under another name, and make it anew?"
            agree(question, yes=yes, as_json=as_json)
        desk = Desk(None, as_json)
        with desk.working("comparing catalog and tables…"):
            report = openers(ctx).repair(warehouse)
        if as_json:
            desk.document(report)
            _end(report)
            return
        for line in report.lines:
            desk.print(str(line))
        if not report.lines:
            desk.print("nothing to repair")
        if report.gone:
            desk.print("not in the tables, and therefore gone:")
            for each in report.gone:
                desk.print(f"  {each}")
        if report.missing:
            desk.print(f"still missing: {', '.join(report.missing)}")
        _end(report)


def _end(report: Any) -> None:
    if report.missing:
        raise typer.Exit(1)
