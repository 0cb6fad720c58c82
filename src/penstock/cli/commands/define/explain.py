"""`penstock explain`: how a stream table, or a query that may become one, is maintained and what it costs."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.context.command_context import opened
from penstock.cli.context.options import HERE, AsJson, QueryFile, Warehouse, read_query


def explain(
    ctx: typer.Context,
    what: Annotated[
        str | None, typer.Argument(metavar="NAME|QUERY", help="A stream table or a query.", show_default=False)
    ] = None,
    file: QueryFile = None,
    warehouse: Warehouse = HERE,
    sql: Annotated[bool, typer.Option("--sql", help="Show the SQL that computes the changes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Explain how a stream table or a query is maintained.

    It shows every operator, and what a full and an incremental refresh would cost.

    \b
    Examples:
      penstock explain revenue
      penstock explain revenue --sql
      penstock explain "SELECT region, max(amount) FROM orders GROUP BY region"
    """
    text = read_query(what, file)
    if text is None:
        raise typer.BadParameter("give a stream table or a query")
    with opened(ctx, warehouse, as_json) as command:
        with command.working("explaining…"):
            explanation = command.tables.explain(text)
        if as_json:
            command.document(explanation)
        else:
            command.print(explanation.text(sql).rstrip("\n"))
