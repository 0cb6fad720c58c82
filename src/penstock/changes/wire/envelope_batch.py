"""Envelopes of whole batches of rows: the same bytes as `CdcEnvelope.to_json`, row by row, many times faster.

All that differs between the envelopes of a batch is the sequence and the row; the rest is written once.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, repeat

import msgspec
import pyarrow as pa

from penstock.changes.wire.cdc_envelope import CdcSource
from penstock.changes.wire.json_rows import json_rows
from penstock.errors import InvalidChange


def envelopes(
    source: CdcSource,
    ts_ms: int,
    *,
    before: pa.Table | None = None,
    after: pa.Table | None = None,
    snapshot: bool = False,
    sequences: Iterable[int] | None = None,
) -> list[bytes]:
    """One envelope per row: `after` alone is c (r for a snapshot), `before` alone is d, both row by row are u.

    Without `sequences` the first has the sequence of the source, and the others follow without gaps.
    """
    if before is not None and after is not None and before.num_rows != after.num_rows:
        raise InvalidChange(
            what=f"updates from {before.num_rows} to {after.num_rows} rows",
            why="every old row belongs to one new row",
            fix="Pass both in the same order, one row per update.",
        )
    op = "u" if before is not None and after is not None else "d" if before is not None else "r" if snapshot else "c"
    head = _ENCODER.encode({"op": op, "ts_ms": ts_ms, "source": {"name": source.name, "db": source.db}})[:-2]
    head += b',"table":' + _ENCODER.encode(source.table) + b',"sequence":'
    old = repeat(b"") if before is None else map(b',"before":'.__add__, json_rows(before))
    new = repeat(b"") if after is None else map(b',"after":'.__add__, json_rows(after))
    rows = next((each.num_rows for each in (before, after) if each is not None), 0)
    numbers = (b"%d}" % number for number in (count(source.sequence) if sequences is None else sequences))
    return [
        b"".join((head, number, gone, come, b"}"))
        for _, number, gone, come in zip(range(rows), numbers, old, new, strict=False)
    ]


_ENCODER = msgspec.json.Encoder()
