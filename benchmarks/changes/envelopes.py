"""Envelopes as JSON."""

from __future__ import annotations

import json

import pyarrow as pa

from benchmarks.changes.cell import Cell, per_row
from penstock.changes.wire.cdc_envelope import CdcEnvelope, CdcSource
from penstock.changes.wire.envelope_batch import envelopes

ROWS = 4096
_SOURCE = CdcSource("penstock", "default", "orders", 42)
_TABLE = pa.table(
    {
        "id": pa.array(range(ROWS)),
        "amount": pa.array([at / 4 for at in range(ROWS)]),
        "region": pa.array([f"region {at % 7}" for at in range(ROWS)]),
    }
)
_DICTS = _TABLE.slice(0, 500).to_pylist()
_ENVELOPE = CdcEnvelope.insert({"id": 1, "amount": 100}, _SOURCE, 1706140800000)
_JSON = _ENVELOPE.to_json()


def _dumped() -> list[bytes]:
    source = {"name": "penstock", "db": "default", "table": "orders", "sequence": 42}
    return [json.dumps({"op": "c", "ts_ms": 1706140800000, "source": source, "after": row}).encode() for row in _DICTS]


CELLS = [
    Cell(
        "envelopes of a batch, as JSON",
        1e-6,
        lambda: per_row(lambda: envelopes(_SOURCE, 1706140800000, after=_TABLE), ROWS, 5),
        lambda: per_row(_dumped, len(_DICTS), 5),
    ),
    Cell(
        "envelope as JSON, a call",
        1e-6,
        lambda: per_row(_ENVELOPE.to_json, 1, 3000),
        lambda: per_row(_dumped, len(_DICTS), 5),
    ),
    Cell(
        "envelope from JSON, a call",
        2e-6,
        lambda: per_row(lambda: CdcEnvelope.from_json(_JSON), 1, 3000),
        lambda: per_row(lambda: json.loads(_JSON), 1, 3000),
    ),
]
