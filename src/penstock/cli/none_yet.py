"""What is said where a catalog knows no stream tables: that there are none, or that it has lost them."""

from __future__ import annotations

from typing import Any


def none_yet(tables: Any) -> str:
    """One line; `tables` is the opened warehouse."""
    # Here and not above: help needs no catalog.
    from penstock.catalog.warehouse_folder import holds_stream_tables

    if holds_stream_tables(tables.path):
        return "there are stream tables that the catalog does not know; put them back with: penstock repair"
    return "there are no stream tables yet; create one with: penstock create NAME QUERY"
