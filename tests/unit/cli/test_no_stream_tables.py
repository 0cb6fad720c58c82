"""A catalog that knows no stream tables, of a folder that holds some, is told of by every command that lists them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.catalog import StreamTableMeta
from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.cli.app import app
from penstock.names import TableName


@pytest.mark.parametrize("command", ["status", "stats", "info", "graph"])
def test_an_empty_catalog_is_no_sign_of_an_empty_warehouse(tmp_path: Path, command: str) -> None:
    """As after a rebuild that was cut off before the first table was back."""
    open_catalog(tmp_path / CATALOG_FILE).close()
    told = CliRunner().invoke(app, [command, "-w", str(tmp_path)])
    assert (told.exit_code, told.stdout.strip().partition(";")[0]) == (0, "there are no stream tables yet")
    (tmp_path / "stream_tables" / "default" / "revenue-1" / "_delta_log").mkdir(parents=True)
    told = CliRunner().invoke(app, [command, "-w", str(tmp_path)])
    assert (told.exit_code, "penstock repair" in told.stdout) == (0, True)


def test_one_that_is_not_in_the_catalog_is_told_of_beside_the_others(tmp_path: Path) -> None:
    """As after a repair that could not put all back; what a killed CREATE left of a known one is nothing lost."""
    with open_catalog(tmp_path / CATALOG_FILE) as catalog:
        place = str(tmp_path / "stream_tables" / "default" / "known-1")
        meta = StreamTableMeta(
            name=TableName.parse("known"), table_id="k", path=place, query="SELECT 1", definition_hash="", key=()
        )
        catalog.insert(meta, [], now=catalog.now())
    for folder in ("known-1", "known-0", "revenue-1"):
        (tmp_path / "stream_tables" / "default" / folder / "_delta_log").mkdir(parents=True)

    def told(*command: str) -> Result:
        return CliRunner().invoke(app, [*command, "-w", str(tmp_path)])

    [line] = [line for line in told("status").stdout.splitlines() if "repair" in line]
    assert line == "in the warehouse, but not in its catalog: default.revenue; put them back with: penstock repair"
    for command in ("status", "stats", "diagnose", "info", "history"):
        asked = told(command, "revenue")
        assert (asked.exit_code, "penstock repair" in asked.stderr) == (1, True), command
    health = told("health")
    assert (health.exit_code, "default.revenue is in the warehouse" in health.stdout) == (1, True)
    assert "penstock repair" not in told("status", "known").stdout
