"""A fresh read: the stored table plus the delta since its frontier, without writing.

The delta program is run as a refresh would run it; its rows are laid over the stored ones instead of being committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.catalog.model import StreamTableMeta
from penstock.refresh.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fresh_rows(warehouse: Warehouse, meta: StreamTableMeta) -> DataFrame:
    """The rows of a stream table as of now."""
    raise NotImplementedError
