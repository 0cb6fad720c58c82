"""The README's quick start runs as printed and prints what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from python_blocks import ROOT, check_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_code_of_a_page_runs_and_prints_what_it_says(
    page: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_page(ROOT / page, spark, tmp_path, monkeypatch)
