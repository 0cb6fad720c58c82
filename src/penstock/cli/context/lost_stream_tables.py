"""Stream tables that are in the warehouse and not in its catalog: named beside the answer of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from penstock.cli.context.stream_tables import CommandTables

_PRINTED: Final = "penstock.lost"


def print_lost(ctx: typer.Context, tables: CommandTables) -> None:
    """One line on standard error, once per command, however often that opens the warehouse."""
    if not ctx.meta.get(_PRINTED) and (names := tables.lost()):
        ctx.meta[_PRINTED] = True
        from penstock.lang.unknown_name import lost_ones

        typer.echo(lost_ones(names), err=True)
