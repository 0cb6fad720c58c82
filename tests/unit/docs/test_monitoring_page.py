"""The metrics of the documentation and of the dashboard are exactly those that are exported; so are the alerts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from generate import DOCS
from prometheus_client.parser import text_string_to_metric_families

from penstock.catalog import (
    SCHEDULER,
    Action,
    AlertEvent,
    Dependency,
    RefreshRecord,
    RefreshStatus,
    SourceType,
    SqliteCatalog,
    Status,
    StreamTableMeta,
)
from penstock.engine.run.workspace import Logs
from penstock.monitor.monitor import Monitor
from penstock.names import Frontier, TableName
from penstock.settings import Settings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PAGE = (DOCS / "concepts" / "monitoring.md").read_text(encoding="utf-8")
DASHBOARD = json.loads((DOCS.parent / "examples" / "grafana" / "penstock.json").read_text(encoding="utf-8"))


@pytest.fixture
def exported(tmp_path: Path) -> Iterator[dict[str, tuple[str, set[str]]]]:
    """Sample name → name of its metric, labels; of a warehouse in which everything has happened."""
    from deltalake import DeltaTable, write_deltalake
    from pyarrow import table

    write_deltalake(str(tmp_path / "orders"), table({"id": [1]}))
    source = str(DeltaTable(str(tmp_path / "orders")).metadata().id)
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        meta = StreamTableMeta(
            name=TableName.parse("revenue"), table_id="t", path=str(tmp_path), query="q", definition_hash="h",
            target_lag=timedelta(minutes=1), status=Status.ACTIVE, is_populated=True, data_timestamp=NOW,
            frontier=Frontier.of({source: 0}, NOW),
        )  # fmt: skip
        reads = Dependency(
            source_id=source, source_name="orders", source_type=SourceType.TABLE, source_path=str(tmp_path / "orders")
        )
        number = catalog.insert(meta, [reads], now=NOW)
        catalog.acquire_lease(SCHEDULER, "host", timedelta(minutes=1), now=NOW)
        monitor = Monitor(catalog, Settings, Logs(), lambda: NOW, "penstock:/w")
        monitor.observe(
            RefreshRecord(
                refresh_id="r", stream_table_id=number, name="default.revenue", action=Action.FULL,
                status=RefreshStatus.COMPLETED, started_at=NOW, ended_at=NOW,
            )
        )  # fmt: skip
        found: dict[str, tuple[str, set[str]]] = {}
        for family in text_string_to_metric_families(monitor.pages()["/metrics"]().body.decode()):
            for sample in family.samples:
                # The time a counter was created at is nothing that people ask for.
                if sample.name.endswith("_created"):
                    continue
                shown = f"{family.name}_total" if family.type == "counter" else family.name
                found[sample.name] = shown, set(sample.labels)
        yield found


def test_the_page_lists_every_metric_and_no_other(exported: dict[str, tuple[str, set[str]]]) -> None:
    part = PAGE.split("## Metrics")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in part.splitlines() if line.startswith("| `")]
    listed = {name: set(re.findall(r"\w+", labels)) for names, labels, _ in rows for name in re.findall(r"\w+", names)}
    metrics = {shown: labels - {"le"} for shown, labels in exported.values()}
    assert listed == metrics


def expressions() -> list[str]:
    found = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return found + [each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]


def test_the_dashboard_uses_metrics_that_exist(exported: dict[str, tuple[str, set[str]]]) -> None:
    used = {name for text in expressions() for name in re.findall(r"\bpenstock_\w+", text)}
    assert len(used) > 15
    assert used - exported.keys() == set()


def test_the_dashboard_uses_labels_that_exist(exported: dict[str, tuple[str, set[str]]]) -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            text = target["expr"]
            known: set[str] = set().union(*(exported[name][1] for name in re.findall(r"\bpenstock_\w+", text)))
            asked = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) | set(re.findall(r"(\w+)=~?\"", text))
            asked |= {label for labels in re.findall(r"by \(([^)]*)\)", text) for label in re.findall(r"\w+", labels)}
            assert asked <= known, text


def test_panels_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_the_page_lists_every_alert_and_no_other() -> None:
    part = PAGE.split("## Alerts")[1].split("\n### ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
    assert sorted(listed) == sorted(event.value for event in AlertEvent)
