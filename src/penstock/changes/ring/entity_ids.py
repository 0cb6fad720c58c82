"""Ids of rows for consumers that know a row by a number: the same key gives the same id, in every process, for ever.

    id = BLAKE2b, 8 bytes, of the canonical JSON of the key values; of all values where rows have no key

Two keys can share an id, though it takes billions of rows until that is likely. An id says which row to read again,
and does not replace the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.changes.wire.canonical_json import canonical_json
from penstock.changes.wire.payload import json_column


def entity_ids(rows: pa.Table, key: Sequence[str]) -> NDArray[np.uint64]:
    """The id of every row."""
    names = list(key) or rows.column_names
    columns = [json_column(rows.column(name)) for name in names]
    if not columns:
        return np.full(rows.num_rows, _id(b"[]"), np.uint64)
    ids = (_id(canonical_json(values)) for values in zip(*columns, strict=True))
    return np.fromiter(ids, np.uint64, rows.num_rows)


def _id(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest())
