"""A catalog that knows no stream tables, of a folder that holds some, is told of by every command that lists them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_tables import FakeTables, fake_openers
from typer.testing import CliRunner, Result

from penstock.catalog import StreamTableMeta
from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog
from penstock.cli.app import app
from penstock.names import TableName

LOST = "in the warehouse, but not in its catalog: default.revenue; put them back with: penstock repair"
EMPTY = "the catalog knows no stream tables"
ANSWERS = {
    "status": EMPTY,
    "stats": EMPTY,
    "info": EMPTY,
    "graph": EMPTY,
    "graph --dot": "digraph",
    "history": "nothing has been refreshed yet",
    "alerts": "there are no alerts",
    "subscriptions": "there are no durable subscriptions",
    "pause": "paused",
    "status --json": "[]",
    "stats --json": "[]",
    "info --json": "[]",
    "graph --json": "{",
    "history --json": "[]",
    "alerts --json": "[]",
    "subscriptions --json": "[]",
}


def asked(warehouse: Path, command: str) -> Result:
    return CliRunner().invoke(app, [*command.split(), "-w", str(warehouse)])


@pytest.mark.parametrize("command", ANSWERS)
def test_an_empty_catalog_is_no_sign_of_an_empty_warehouse(tmp_path: Path, command: str) -> None:
    """As after a rebuild that was cut off before the first table was back."""
    open_catalog(tmp_path / CATALOG_FILE).close()
    told = asked(tmp_path, command)
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.strip().partition(";")[0] == "there are no stream tables yet" or ANSWERS[command] != EMPTY
    (tmp_path / "stream_tables" / "default" / "revenue-1" / "_delta_log").mkdir(parents=True)
    told = asked(tmp_path, command)
    assert (told.exit_code, told.stderr) == (0, LOST + "\n")
    assert told.stdout.startswith(ANSWERS[command])


class Losing(FakeTables):
    """Some stream tables are not in the catalog."""

    def lost(self) -> list[str]:
        return ["default.revenue"]


@pytest.mark.parametrize(
    "command",
    [
        "tick",
        "tick --json",
        "refresh --all",
        "refresh revenue --json",
        "sql -e SELECT",
        "create x SELECT --or-replace --yes",
        "alter revenue --query SELECT --yes",
        "drop other --yes",
    ],
)
def test_commands_that_compute_say_once_what_the_catalog_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "penstock.toml").touch()
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, command.split(), obj=fake_openers(Losing()))
    assert told.stderr.count(LOST) == 1, told.stderr
    assert LOST not in told.stdout


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

    for command in ("status", "stats", "info", "graph", "alerts", "status known"):
        assert told(*command.split()).stderr == LOST + "\n", command
    for command in ("status", "stats", "diagnose", "info", "history"):
        asked = told(command, "revenue")
        assert (asked.exit_code, "penstock repair" in asked.stderr) == (1, True), command
    health = told("health")
    assert (health.exit_code, "default.revenue is in the warehouse" in health.stdout) == (1, True)
    assert health.stderr == ""
