"""Two stream tables that read each other, as two definitions changed at one moment can leave them: that is told, and
hides nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from monitored import NOON, Add

from penstock.api import open_lazily
from penstock.catalog import Dependency, SourceType, SqliteCatalog, Status, StreamTableMeta
from penstock.monitor.health import health
from penstock.monitor.status import status
from penstock.names import Frontier, TableName

MINUTE = timedelta(minutes=1)
FILLED = {"is_populated": True, "status": Status.ACTIVE, "data_timestamp": NOON, "frontier": Frontier.of({}, NOON)}


def close_a_circle(add: Add) -> None:
    """a and b read each other, c reads b; d has nothing to do with them."""
    for name, source in {"a": "id-b", "b": "id-a", "c": "id-b", "d": "orders"}.items():
        add(name, {source: ""}, **FILLED)


def test_status_shows_every_table_and_who_waits_for_a_person(catalog: SqliteCatalog, add: Add) -> None:
    close_a_circle(add)
    rows = {row.name: row for row in status(catalog, NOON, MINUTE)}
    circle = ("default.a", "default.b")
    assert {name: row.blocked_by for name, row in rows.items()} == {
        "default.a": circle,
        "default.b": circle,
        "default.c": circle,
        "default.d": (),
    }
    assert {row.effective_lag for row in rows.values()} == {MINUTE}


def test_health_names_the_circle_and_the_catalog_is_said_to_answer(catalog: SqliteCatalog, add: Add) -> None:
    close_a_circle(add)
    seen = health(catalog, NOON, MINUTE)
    assert seen.catalog
    assert seen.problems == ("default.a, default.b read each other in a circle, and are not refreshed",)


def test_diagnosis_says_what_to_do(tmp_path: Path) -> None:
    with open_lazily(tmp_path) as tables:
        catalog = tables._warehouse.catalog
        for name, source in {"a": "b", "b": "a", "c": "b"}.items():
            meta = StreamTableMeta(name=TableName.parse(name), table_id=name, path="", query="", definition_hash="")
            reads = Dependency(source_id=source, source_name=source, source_type=SourceType.STREAM_TABLE)
            catalog.insert(meta, [reads], now=catalog.now())
        own = {each.code: each for each in tables.diagnose("a").findings}["CIRCLE"]
        assert own.serious
        assert own.text == "it reads itself: default.a → default.b → default.a"
        assert own.advice.startswith("Give one of them another query")
        waits = {each.code: each for each in tables.diagnose("c").findings}["UPSTREAM_BLOCKED"]
        assert waits.text.startswith("it waits for default.b: it reads itself: default.b → default.a → default.b")
