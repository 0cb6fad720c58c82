"""`penstock doctor`: check that everything Penstock needs is there; if not, the exit code is 1."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.context.command_context import Output, openers, reporting_errors
from penstock.cli.context.options import HERE, AsJson, Warehouse


def doctor(
    ctx: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Also start Spark and write a small table.")] = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Check that everything Penstock needs is there.

    It checks Java, Spark, the Delta jars and the warehouse, and says how to mend what is wrong.

    \b
    Examples:
      penstock doctor
      penstock doctor --deep
    """
    with reporting_errors(as_json):
        output = Output(as_json)
        with output.working("looking around…"):
            checks = openers(ctx).check_machine(warehouse, deep)
        if as_json:
            output.document(checks)
        else:
            for check in checks:
                mark = typer.style("ok  ", fg="green") if check.ok else typer.style("FAIL", fg="red", bold=True)
                output.print(f"{mark}  {check.name}: {check.found}")
                if check.advice and not check.ok:
                    output.print(f"      {check.advice}")
        if not all(check.ok for check in checks):
            raise typer.Exit(1)
