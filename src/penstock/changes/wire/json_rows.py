"""Rows as JSON objects, a whole table at once; `payload.py` defines the forms of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import repeat
from typing import Any

import msgspec
import pyarrow as pa

from penstock.changes.wire.payload import json_column


def json_rows(table: pa.Table) -> Iterable[bytes]:
    """One object per row, its keys in the order of the columns."""
    if not table.num_columns:
        return repeat(b"{}", table.num_rows)
    columns = [json_column(column) for column in table.columns]
    return map(_ENCODER.encode, map(_row_type(tuple(table.column_names)), *columns))


@lru_cache(maxsize=256)
def _row_type(names: tuple[str, ...]) -> Callable[..., Any]:
    """A struct of these columns, which is encoded without looking up a name; a dict where a name must be escaped."""
    if any(_ESCAPED.search(name) for name in names):
        return lambda *values: dict(zip(names, values, strict=True))
    fields = [f"field_{at}" for at in range(len(names))]
    return msgspec.defstruct("Row", fields, rename=dict(zip(fields, names, strict=True)), gc=False)


_ENCODER = msgspec.json.Encoder()
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
