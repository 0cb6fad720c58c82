"""The catalog of a place: an address of PostgreSQL, or a SQLite file."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeGuard

from penstock.catalog.address import split_address
from penstock.catalog.postgres_address import PostgresAddress
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.catalog.sqlite import SqliteCatalog, require_folder

CATALOG_FILE: Final = "catalog.sqlite"
"""Where the embedded catalog lies inside the warehouse."""


def catalog_place(warehouse: Path, setting: str) -> str | Path:
    """Where the catalog of a warehouse is; a relative path starts at the warehouse.

    >>> str(catalog_place(Path("/w"), "")), catalog_place(Path("/w"), "postgresql://ann@host/shop")
    ('/w/catalog.sqlite', 'postgresql://ann@host/shop')
    """
    return setting if is_address(setting) else warehouse / (setting or CATALOG_FILE)


def is_address(place: str | Path) -> TypeGuard[str]:
    """True if the catalog is on a server."""
    return isinstance(place, str) and split_address(place) is not None


def require_place(place: str | Path) -> None:
    """CatalogUnusable if no catalog can be at that place; only opening it shows whether a server answers."""
    if is_address(place):
        PostgresAddress.parse(place)
    else:
        require_folder(Path(place))


def open_catalog(place: str | Path, root: Path | None = None, *, must_exist: bool = False) -> SqlCatalog:
    """Open the catalog at that place, or make one if there is none; CatalogLost if one `must_exist`.

    Paths in it start at `root`, the folder of the warehouse; without one, at the place that the catalog names itself.
    """
    folder = None if root is None else str(root)
    if is_address(place):
        # Here and not above: most warehouses never talk to a server, and the driver takes time to load.
        from penstock.catalog.postgres import PostgresCatalog

        return PostgresCatalog(place, root=folder, must_exist=must_exist)
    return SqliteCatalog(place, root=folder, must_exist=must_exist)
