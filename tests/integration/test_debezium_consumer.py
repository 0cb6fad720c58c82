"""A consumer of Debezium's format follows a table by our envelopes alone: Flink reads them, rows are applied by key."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from flink import DebeziumReader, fetch

from penstock.changes.wire.cdc_envelope import CdcSource
from penstock.changes.wire.envelope_batch import envelopes

pytestmark = [pytest.mark.slow, pytest.mark.jvm, pytest.mark.process, pytest.mark.network]

COLUMNS = {
    "id": ("BIGINT", pa.int64()),
    "name": ("STRING", pa.string()),
    "amount": ("DECIMAL", pa.decimal128(38, 18)),
    "ratio": ("DOUBLE", pa.float64()),
    "at": ("TIMESTAMP_LTZ", pa.timestamp("us", "UTC")),
    "local": ("TIMESTAMP", pa.timestamp("us")),
    "day": ("DATE", pa.date32()),
    "flag": ("BOOLEAN", pa.bool_()),
    "data": ("BYTES", pa.binary()),
}
SCHEMA = pa.schema({name: kind for name, (_, kind) in COLUMNS.items()})
Row = dict[str, Any]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebeziumReader]:
    folder = tmp_path_factory.mktemp("flink")
    fetch(folder)
    started = DebeziumReader(folder, {name: kind for name, (kind, _) in COLUMNS.items()})
    yield started
    started.close()


@pytest.mark.parametrize("seed", range(5))
def test_flink_follows_a_table(reader: DebeziumReader, seed: int) -> None:
    chance = random.Random(seed)
    table = {key: row(key, chance) for key in range(30)}
    wire = envelopes(source(1), 0, after=rows(list(table.values())), snapshot=True)
    for turn in range(5):
        gone = {key: table.pop(key) for key in chance.sample(sorted(table), 5)}
        kept = chance.sample(sorted(table), 8)
        old = [table[key] for key in kept]
        new = [row(key, chance) for key in kept]
        come = [row(100 * (turn + 1) + at, chance) for at in range(6)]
        wire += envelopes(source(len(wire) + 1), turn, before=rows(list(gone.values())))
        wire += envelopes(source(len(wire) + 1), turn, before=rows(old), after=rows(new))
        wire += envelopes(source(len(wire) + 1), turn, after=rows(come))
        table.update((each["id"], each) for each in new + come)
    held: dict[int, Row] = {}
    kinds = set()
    for kind, values in reader.read(wire):
        kinds.add(kind)
        if kind.startswith("+"):
            assert values["id"] not in held
            held[values["id"]] = values
        else:
            assert held.pop(values["id"]) == values, "the before image is the row that was there"
    assert kinds == {"+I", "-U", "+U", "-D"}
    assert held == table


def source(sequence: int) -> CdcSource:
    return CdcSource("penstock", "default", "orders", sequence)


def rows(each: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(each, SCHEMA)


def row(key: int, chance: random.Random) -> Row:
    """Values at the edges, and NULLs in every column but the key."""
    micros = timedelta(microseconds=chance.randrange(-(10**15), 10**16))
    values: Row = {
        "name": chance.choice(["", "ü\n\"'\\", "null", "x" * 100]),
        "amount": Decimal(chance.randrange(-(10**37), 10**37)).scaleb(-18),
        "ratio": chance.choice([0.1, -0.0, 1e308, float("inf"), float("-inf"), chance.random()]),
        "at": datetime(2024, 1, 1, tzinfo=UTC) + micros,
        "local": datetime(2024, 1, 1) + micros,
        "day": date(1900, 1, 1) + timedelta(days=chance.randrange(80000)),
        "flag": chance.random() < 0.5,
        "data": chance.randbytes(chance.randrange(5)),
    }
    told = {name: None if chance.random() < 0.15 else value for name, value in values.items()}
    return {"id": key, **told}
