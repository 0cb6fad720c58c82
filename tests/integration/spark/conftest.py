"""The fixture that opens a warehouse for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[StreamTables]:
    # Imported here, so that a run without Spark tests does not load it.
    from warehouses import warehouse

    with warehouse(spark, tmp_path) as opened:
        yield opened
