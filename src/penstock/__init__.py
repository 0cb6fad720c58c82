"""Stream tables for Apache Spark: a query, a freshness target, and a Delta table kept equal to the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.version import VERSION as __version__

__all__ = ["StreamTables", "__version__", "look", "open", "open_lazily", "repair"]

if TYPE_CHECKING:
    from penstock.api import StreamTables, look, open, open_lazily, repair


def __getattr__(name: str) -> Any:
    # Importing the package must not load Spark: `penstock --help` answers at once.
    if name in {"StreamTables", "look", "open", "open_lazily", "repair"}:
        from penstock import api

        return getattr(api, name)
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
