from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from penstock.engine.write.apply import Change, Thresholds, choose_applier, fits_driver
from penstock.errors import InvalidSetting


@dataclass
class Settings:
    apply: str = "auto"


SMALL = Change("append", pa.table({"a": [1, 2, 3]}))


def test_a_small_change_is_applied_from_the_driver() -> None:
    assert choose_applier(SMALL, Settings()) == "delta-rs"


def test_a_large_one_by_spark() -> None:
    assert choose_applier(SMALL, Settings(), Thresholds(driver_rows=2)) == "spark"
    assert choose_applier(SMALL, Settings(), Thresholds(driver_bytes=10)) == "spark"


@pytest.mark.parametrize("choice", ["delta-rs", "spark"])
def test_a_demand_settles_it(choice: str) -> None:
    assert choose_applier(SMALL, Settings(choice), Thresholds(driver_rows=0)) == choice


def test_an_unknown_applier_is_refused() -> None:
    with pytest.raises(InvalidSetting):
        choose_applier(SMALL, Settings("duckdb"))


def test_limits_are_inclusive() -> None:
    assert fits_driver(2, 10, Thresholds(driver_rows=2, driver_bytes=10))
    assert not fits_driver(3, 10, Thresholds(driver_rows=2, driver_bytes=10))
