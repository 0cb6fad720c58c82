"""Totals of a bag's touched values on the driver: checked against counting by hand, over seeded histories."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock.compile.stored import OP
from penstock.engine.run.driver_totals import new_totals
from penstock.names import WEIGHT

SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("s", pa.string()),
        ("d", pa.decimal128(9, 2)),
        ("t", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        (WEIGHT, pa.int64()),
    ]
)
VALUES = ["n", "s", "d", "t", "day"]
Row = tuple[object, ...]


def value(dice: random.Random) -> Row:
    return (
        dice.choice([None, 1, 2]),
        dice.choice([None, "", "a"]),
        dice.choice([None, Decimal("1.50")]),
        dice.choice([None, datetime(2024, 1, 1, tzinfo=UTC)]),
        dice.choice([None, date(2024, 1, 1)]),
    )


def table(rows: list[tuple[Row, int]]) -> pa.Table:
    return pa.Table.from_pylist(
        [{**dict(zip(VALUES, each, strict=True)), WEIGHT: weight} for each, weight in rows], schema=SCHEMA
    )


@pytest.mark.parametrize("seed", range(60))
def test_totals_are_those_counted_by_hand(seed: int) -> None:
    dice = random.Random(seed)
    stored = [(value(dice), dice.randint(1, 3)) for _ in range(dice.randint(0, 30))]
    held: Counter[Row] = Counter()
    for each, weight in stored:
        held[each] += weight
    change = {value(dice): dice.choice([-2, -1, 1, 2]) for _ in range(dice.randint(1, 12))}
    # The files that are read may hold rows of values that did not change.
    rows = new_totals(table(list(change.items())), table(stored), VALUES)
    assert rows is not None
    found = {(tuple(row[name] for name in VALUES), row[WEIGHT], row[OP]) for row in rows.to_pylist()}
    assert len(found) == rows.num_rows
    expected = set()
    for each, weight in change.items():
        total = held[each] + weight if weight < 0 else weight
        if total < 0:
            expected.add((each, total, "!"))
        if weight < 0 and held[each] > 0 and total >= 0:
            expected.add((each, total, "d"))
        if total > 0:
            expected.add((each, total, "i"))
    assert found == expected


def test_numbers_with_two_zeros_are_left_to_spark() -> None:
    rows = pa.table({"x": pa.array([0.0]), WEIGHT: pa.array([-1], pa.int64())})
    assert new_totals(rows, rows, ["x"]) is None
