"""avg of decimals by stored sum and count: rounded like one rounding of the true quotient, up to the largest counts.

Rows by the hundred million cannot be stored here; the formula that the fold puts into its statements is run instead,
over sums and counts chosen so that the quotient lies next to a point where it is rounded the other way.
"""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import TYPE_CHECKING

import pytest

from penstock.compile.folds.average import Average

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(("precision", "scale"), [(5, 2), (10, 0), (12, 2), (15, 2), (17, 4), (18, 2), (20, 3)])
def test_a_quotient_next_to_a_half_is_rounded_once(spark: SparkSession, precision: int, scale: int) -> None:
    fold = Average(f"DECIMAL({precision},{scale})", f"DECIMAL({precision + 4},{scale + 4})")
    chance, unit = random.Random(precision), Decimal(1).scaleb(-(scale + 4))
    pairs: list[tuple[Decimal, int]] = []
    with localcontext() as exactly:
        exactly.prec = 100
        while len(pairs) < 500:
            count = chance.randrange(1, min(10 ** (fold.spare - 4), 10**11))
            whole = chance.randrange(-(10 ** (precision - scale - 1)), 10 ** (precision - scale - 1))
            half = whole + unit * chance.randrange(10**4) + unit / 2
            total = (half * count).quantize(Decimal(1).scaleb(-scale)) + chance.choice([-1, 0, 1]) * Decimal(1).scaleb(
                -scale
            )
            if abs(total) < Decimal(10) ** (precision + 10 - scale):
                pairs.append((total, count))
        wanted = [(total / count).quantize(unit, rounding=ROUND_HALF_UP) for total, count in pairs]
    rows = spark.createDataFrame([(str(total), count) for total, count in pairs], "total STRING, n BIGINT")
    states = {"s": f"CAST(total AS DECIMAL(37,{scale}))", "n": "n"}
    assert [row[0] for row in rows.selectExpr(fold.final(states.__getitem__)).collect()] == wanted


def test_a_group_of_a_hundred_million_rows_is_folded() -> None:
    fold = Average("DECIMAL(15,2)", "DECIMAL(19,6)")
    assert fold.stale(lambda name: f"old_{name}", lambda name: f"new_{name}") == (
        "coalesce(old_n, 0) + new_n >= 1000000000"
    )
