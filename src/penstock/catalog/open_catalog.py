"""The catalog of a place: an address of PostgreSQL, or a SQLite file."""

from __future__ import annotations

from pathlib import Path

from penstock.catalog.sql_catalog import SqlCatalog
from penstock.catalog.sqlite import SqliteCatalog


def is_address(place: str | Path) -> bool:
    """True if the catalog is on a server."""
    return isinstance(place, str) and "://" in place


def open_catalog(place: str | Path) -> SqlCatalog:
    """Open the catalog that is there, or make one."""
    if not is_address(place):
        return SqliteCatalog(place)
    # Here and not above: most warehouses never talk to a server, and the driver takes time to load.
    from penstock.catalog.postgres import PostgresCatalog

    return PostgresCatalog(str(place))
