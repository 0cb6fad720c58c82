"""What every route works with."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api import StreamTables
from penstock.serve.access import Access


@dataclass(frozen=True, slots=True)
class Context:
    """An open warehouse, and who may see what of it."""

    tables: StreamTables
    access: Access
