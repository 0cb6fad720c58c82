"""The examples that are small enough run here as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock import api
from python_blocks import ROOT, schema_of_its_own

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_cache_that_follows_changes_equals_the_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def open_here(path: Path, **options: Any) -> api.StreamTables:
        return api.open(path, spark=spark, **options)

    monkeypatch.setattr(penstock, "open", open_here)
    example = runpy.run_path(str(ROOT / "examples" / "follow.py"))
    with schema_of_its_own(spark, "example_follow"):
        assert example["main"](tmp_path)
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  version")]
    # All rows first, then a commit per round.
    assert len(told) == 1 + len(example["ROUNDS"]) + 1
