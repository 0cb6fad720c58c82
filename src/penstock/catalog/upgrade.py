"""Bring a catalog to the schema that this Penstock knows: forwards only, and never a database that is no catalog."""

from __future__ import annotations

from collections.abc import Collection

from penstock.catalog import migrations
from penstock.catalog.database import Statements
from penstock.errors import CatalogError, CatalogLost


def latest() -> int:
    """The schema that this Penstock writes."""
    return len(migrations.MIGRATIONS)


def stored_version(db: Statements, tables: Collection[str], place: str, *, must_exist: bool = False) -> int:
    """The schema that is there, 0 for none; `tables` are those that exist in the catalog's place."""
    if not tables:
        if must_exist:
            raise CatalogLost(place=place)
        return 0
    row = None
    if "meta" in tables:
        row = db.execute("SELECT number FROM meta WHERE key = 'schema_version'").fetchone()
    if row is None:
        raise CatalogError(
            why=f"{place} is not a Penstock catalog", fix="Name another place for the catalog, or move this one away."
        )
    version = int(row["number"])
    if version > latest():
        raise CatalogError(
            why=f"{place} was written by a newer Penstock (schema {version}; this one knows up to {latest()})",
            fix="Upgrade Penstock, or open another warehouse.",
        )
    return version


def upgrade(connection: migrations.Connection, version: int) -> None:
    """Run the steps that a catalog of that version lacks; the caller's transaction makes it all or nothing."""
    for number, up in enumerate(migrations.MIGRATIONS[version:], version + 1):
        up(connection)
        connection.execute(f"UPDATE meta SET number = {number} WHERE key = 'schema_version'")
