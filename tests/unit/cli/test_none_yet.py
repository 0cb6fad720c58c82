"""A catalog that knows no stream tables, of a folder that holds some, is told of by every command that lists them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.cli.commands import app


@pytest.mark.parametrize("command", ["status", "stats", "info", "graph"])
def test_an_empty_catalog_is_no_sign_of_an_empty_warehouse(tmp_path: Path, command: str) -> None:
    """As after a rebuild that was cut off before the first table was back."""
    open_catalog(tmp_path / CATALOG_FILE).close()
    told = CliRunner().invoke(app, [command, "-w", str(tmp_path)])
    assert (told.exit_code, told.stdout.strip().partition(";")[0]) == (0, "there are no stream tables yet")
    (tmp_path / "stream_tables" / "default" / "revenue-1" / "_delta_log").mkdir(parents=True)
    told = CliRunner().invoke(app, [command, "-w", str(tmp_path)])
    assert (told.exit_code, "penstock repair" in told.stdout) == (0, True)
