"""What stream tables exist, what they read, how far they are, what was refreshed, and who is working on them.

`CatalogReader` looks, `CatalogWriter` changes; `open_catalog` gives one in SQLite or PostgreSQL. The catalog can be
lost: everything that matters for results is also in the stream tables' own commits. Imports only the basics and a
reader of names from `lang`; `refresh`, `ddl`, `monitor` and what is above them call it.

Open to every package: address, database, fault, identity_file, model, open_catalog, owner, postgres,
    postgres_address, reader, warehouse_folder, writer.
"""

from penstock.catalog.model import (
    SCHEDULER,
    UNSET,
    Action,
    Advance,
    Alert,
    AlertEvent,
    Counters,
    Dependency,
    KnownKind,
    KnownTable,
    Lease,
    RefreshMode,
    RefreshRecord,
    RefreshStatus,
    SourceType,
    Status,
    StreamTableMeta,
    Unset,
    UnsetType,
)
from penstock.catalog.open_catalog import open_catalog
from penstock.catalog.owner import current_owner
from penstock.catalog.reader import CatalogReader
from penstock.catalog.sqlite import SqliteCatalog
from penstock.catalog.writer import CatalogWriter

__all__ = [
    "SCHEDULER",
    "UNSET",
    "Action",
    "Advance",
    "Alert",
    "AlertEvent",
    "CatalogReader",
    "CatalogWriter",
    "Counters",
    "Dependency",
    "KnownKind",
    "KnownTable",
    "Lease",
    "RefreshMode",
    "RefreshRecord",
    "RefreshStatus",
    "SourceType",
    "SqliteCatalog",
    "Status",
    "StreamTableMeta",
    "Unset",
    "UnsetType",
    "current_owner",
    "open_catalog",
]
