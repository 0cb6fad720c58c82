"""A catalog without stream tables: either the warehouse has none, or its catalog has lost them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.cli.context.stream_tables import CommandTables


def no_stream_tables(tables: CommandTables) -> str:
    """One line for a command that has nothing to list."""
    if tables.lost():
        return "the catalog knows no stream tables"
    return "there are no stream tables yet; create one with: penstock create NAME QUERY"
