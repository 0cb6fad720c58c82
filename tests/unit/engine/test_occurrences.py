"""Which rows have one of the values: the same answer for sorted files, unsorted ones, NULLs and every type."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from penstock.engine.read.occurrences import occurrences

TYPES: dict[pa.DataType, Any] = {
    pa.int8(): lambda n: n - 20,
    pa.int32(): lambda n: n * 1000,
    pa.int64(): lambda n: n - 2**62,
    pa.date32(): lambda n: date(1969, 12, 1) + timedelta(n),
    pa.timestamp("us", "UTC"): lambda n: datetime(1969, 12, 31, tzinfo=UTC) + timedelta(hours=n),
    pa.timestamp("us"): lambda n: datetime(2024, 3, 31) + timedelta(minutes=n),
    pa.string(): lambda n: f"v{n}",
    pa.decimal128(10, 2): lambda n: n,
}


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_random_columns(kind: pa.DataType) -> None:
    for seed in range(40):
        chance = random.Random(seed)
        columns = []
        for _ in range(3):
            numbers: list[int | None] = [chance.randrange(40) for _ in range(chance.randrange(30))]
            if chance.random() < 0.6:
                numbers.sort()
            if chance.random() < 0.3:
                numbers.append(None)
            columns.append([None if n is None else TYPES[kind](n) for n in numbers])
        values = [TYPES[kind](chance.randrange(40)) for _ in range(chance.randrange(8))]
        values += [None] * (chance.random() < 0.3)
        wanted = pa.array(values, kind).unique()
        found = occurrences([pa.array(column, kind) for column in columns], wanted)
        expected = [[value in values for value in column] for column in columns]
        assert [each.to_pylist() for each in found] == expected, f"seed {seed}"
