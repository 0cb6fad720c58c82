"""What is said of stream tables that a catalog does not know: that there are none, or that it has lost them."""

from __future__ import annotations

from typing import Any


def none_yet(tables: Any) -> str:
    """One line; `tables` is the opened warehouse."""
    return lost(tables) or "there are no stream tables yet; create one with: penstock create NAME QUERY"


def lost(tables: Any) -> str | None:
    """One line about the stream tables that are in the warehouse and not in its catalog, if there are any."""
    names = tables.lost()
    if not names:
        return None
    return f"in the warehouse, but not in its catalog: {', '.join(names)}; put them back with: penstock repair"
