"""`penstock graph`: which stream table reads what."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.context.command_context import opened_lazily
from penstock.cli.context.options import HERE, AsJson, Warehouse
from penstock.cli.render.no_stream_tables import no_stream_tables


def graph(
    ctx: typer.Context,
    dot: Annotated[bool, typer.Option("--dot", help="Print Graphviz source.")] = False,
    warehouse: Warehouse = HERE,
    as_json: AsJson = False,
) -> None:
    """Show which stream table reads what.

    \b
    Examples:
      penstock graph
      penstock graph --dot | dot -Tsvg > graph.svg
    """
    if dot and as_json:
        raise typer.BadParameter("--dot and --json exclude each other")
    with opened_lazily(ctx, warehouse, as_json) as command:
        found = command.tables.graph()
        if as_json:
            edges = [dict(zip(("name", "source_name", "source_type"), edge, strict=True)) for edge in found.edges()]
            command.document({"edges": edges})
        elif dot:
            command.print(found.dot().rstrip("\n"))
        else:
            command.print(found.text().rstrip("\n") or no_stream_tables(command.tables))
