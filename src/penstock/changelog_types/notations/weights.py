"""Z-set weights.

operation → weight   always, and nothing is lost that a table holds
weight → operation   +n is n inserts, −n is n deletes; which of them belong together as updates is not in the
                     weights: that needs a key, see `pairs.py`
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.errors import InvalidChange
from penstock.names import WEIGHT

_WEIGHTS = np.array([operation.weight() for operation in CdcOperation], np.int64)


def weights_of(operations: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """+1 or −1 for each operation."""
    if operations.size and operations.max() > 3:
        raise InvalidChange(
            what=f"operation {operations.max()}", why="operations are 0 to 3", fix="Convert them first."
        )
    return _WEIGHTS[operations]


def operations_of(weights: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """One insert or delete per copy: the row each belongs to, and the operations."""
    rows = np.repeat(np.arange(len(weights)), np.abs(weights))
    return rows, np.where(weights[rows] > 0, np.uint8(0), np.uint8(1))


def with_weight(rows: pa.Table | pa.RecordBatch, operations: npt.NDArray[np.uint8]) -> pa.Table | pa.RecordBatch:
    """Rows as changes: the same columns, none copied, and the weight."""
    return rows.append_column(pa.field(WEIGHT, pa.int64(), nullable=False), pa.array(weights_of(operations)))
