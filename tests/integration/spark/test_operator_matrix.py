"""The committed operator matrix is what the compiler does now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from generate import DOCS, operator_matrix

from python_blocks import schema_of_its_own

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_matrix_is_up_to_date(spark: SparkSession, tmp_path: Path) -> None:
    with schema_of_its_own(spark, "matrix"):
        now = operator_matrix.text(spark, tmp_path)
    page = (DOCS / operator_matrix.PAGE).read_text(encoding="utf-8")
    assert now.splitlines() == page.splitlines(), "write it again with: make operators"
