"""A session in which a name of ours stands for another warehouse's files is refused: a statement would reach those.

    place(name) = what we remember of it  ∨  no other warehouse lies there        for every name that is ours,

and of schemas the default one is ours too: new tables go there. A session's names are the same for all who use it, so
two warehouses, as one and its copy, can only share it while they have no name in common.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.catalog.model import KnownKind, KnownTable
from penstock.catalog.reader import CatalogReader
from penstock.catalog.warehouse_folder import is_warehouse
from penstock.engine.bind.pinned_query import folder, same_folder
from penstock.engine.spark.registry import places_of
from penstock.errors import SessionMisconfigured
from penstock.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def names_of(catalog: CatalogReader) -> list[KnownTable]:
    """Every name of a warehouse: schemas, plain tables, views, stream tables."""
    return [*catalog.known_tables(), *(stream_table(meta.name, meta.path) for meta in catalog.get_all())]


def stream_table(name: TableName, path: str) -> KnownTable:
    """The name of a stream table: a view of the rows in its folder."""
    return KnownTable(schema=name.schema, table=name.table, kind=KnownKind.VIEW, path=path)


def refuse_names_of_others(spark: SparkSession, root: Path, ours: Iterable[KnownTable]) -> None:
    """SessionMisconfigured if a name of ours stands for another warehouse's files, or for a place that ours left."""
    names = [KnownTable(schema="default", kind=KnownKind.SCHEMA), *ours]
    for known, held in places_of(spark, names):
        place = folder(held)
        if "://" in place or (known.path is not None and same_folder(known.path, place)):
            continue
        owner = _warehouse_of(Path(os.path.realpath(place)))
        if owner is not None and not owner.samefile(root):
            _refuse(root, known, f"{place}, which belongs to another warehouse, {owner}")
        if known.path is not None and not os.path.exists(place) and os.path.exists(folder(known.path)):
            _refuse(root, known, f"{place}, where nothing is any more; it lies in {folder(known.path)}")


def _warehouse_of(place: Path) -> Path | None:
    for each in (place, *place.parents):
        # What cannot be looked into cannot be written to either.
        with suppress(OSError):
            if is_warehouse(each):
                return each
    return None


def _refuse(root: Path, known: KnownTable, why: str) -> None:
    raise SessionMisconfigured(
        what=f"its name {known.name} stands for {why}",
        fix=f"Open {root} with a Spark of its own: in another process, or after this one has been stopped; "
        "spark.newSession() shares the names. If they are kept in a metastore, it needs another one.",
    )
