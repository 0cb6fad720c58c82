"""A catalog without stream tables: either the warehouse has none, or its catalog has lost them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.cli.context.stream_tables import CommandTables


def no_stream_tables(tables: CommandTables) -> str:
    """One line for a command that has nothing to list."""
    return lost_stream_tables(tables) or "there are no stream tables yet; create one with: penstock create NAME QUERY"


def lost_stream_tables(tables: CommandTables) -> str | None:
    """One line about the stream tables that are in the warehouse and not in its catalog, if there are any."""
    names = tables.lost()
    if not names:
        return None
    return f"in the warehouse, but not in its catalog: {', '.join(names)}; put them back with: penstock repair"
