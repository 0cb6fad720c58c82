"""What is said of stream tables that a catalog does not know: that there are none, or that it has lost them."""

from __future__ import annotations

from typing import Any

import typer

_SAID = "penstock.lost"


def none_yet(tables: Any) -> str:
    """One line; `tables` is the opened warehouse."""
    if tables.lost():
        return "the catalog knows no stream tables"
    return "there are no stream tables yet; create one with: penstock create NAME QUERY"


def say_lost(ctx: typer.Context, tables: Any) -> None:
    """One line beside the answer about the stream tables that are in the warehouse and not in its catalog, if any are.

    It is said once by a command, however often that opens the warehouse.
    """
    if not ctx.meta.get(_SAID) and (names := tables.lost()):
        ctx.meta[_SAID] = True
        from penstock.lang.unknown_name import lost_ones

        typer.echo(lost_ones(names), err=True)
