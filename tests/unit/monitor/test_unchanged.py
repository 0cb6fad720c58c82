"""Whether rows are right however old, from hand-written logs; what a survey says is made up."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from monitored import NOON
from test_delta_log import PROTOCOL, metadata, write

from penstock.catalog import Dependency, SourceType, SqliteCatalog, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.write.storage_state import storage_state
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY
from penstock.monitor.status import status
from penstock.monitor.unchanged import UnchangedByLogs, surveyed
from penstock.names import Frontier, TableName


def stored(root: Path, name: str, **fields: Any) -> StreamTableMeta:
    """A stream table whose storage has a log, and no rows."""
    definition = Definition(
        **{
            "id": f"st-{name}",
            "name": name,
            "query": "",
            "database": "",
            "settings": {},
            "target_lag_seconds": 60.0,
            "refresh_mode": "AUTO",
            "key": (),
            "columns": (),
            "weighted": False,
            "has_hidden_rows": False,
            **fields,
        }
    )
    properties = {ID_KEY: definition.id, DEFINITION_KEY: definition.to_json()}
    write(root / name, 0, PROTOCOL, metadata(f"id-{name}", **properties))
    return StreamTableMeta(
        name=TableName.parse(name),
        table_id=f"id-{name}",
        path=str(root / name),
        query="",
        definition_hash=definition.hash,
        is_populated=True,
        data_timestamp=NOON,
    )


class Surveys:
    """Surveys that find nothing, except of the tables that are named; they ask the catalog as real ones do."""

    def __init__(self, *changed: str) -> None:
        self.changed, self.asked = changed, list[str]()

    def survey(self, seen: Any, dependencies: Any) -> Any:
        self.asked.append(seen.meta.name.table)
        dependencies(seen.meta.id)
        changed = seen.meta.name.table in self.changed
        return SimpleNamespace(before=Frontier.of({}, NOON), rebuild=None, data_changed=changed)


def warehouse(survey: Any) -> Any:
    return SimpleNamespace(refresher=SimpleNamespace(survey=survey), logs=Logs(), now=lambda: NOON, has_started=True)


def is_unchanged(survey: Any, meta: StreamTableMeta) -> bool:
    return UnchangedByLogs(warehouse(survey), [meta], [])(meta)


def test_a_session_that_is_gone_cannot_say_that_a_view_is_the_same(tmp_path: Path) -> None:
    class GatewayIsDown(Exception):
        """As py4j's errors, which are no errors of Penstock."""

    def survey(*_: object, **__: object) -> None:
        raise GatewayIsDown

    meta = stored(tmp_path, "revenue", views={"v": "hash"})
    assert not is_unchanged(survey, meta)
    gone = warehouse(survey)
    assert surveyed(gone, meta, storage_state(gone.logs.at(meta.path))) == (None, False)
    assert is_unchanged(Surveys().survey, meta)


@pytest.mark.parametrize("properties", [{}, {ID_KEY: "st"}, {ID_KEY: "st", DEFINITION_KEY: "{}"}])
def test_a_storage_that_is_no_stream_tables_is_not_known_to_be_the_same(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    meta = stored(tmp_path, "revenue")
    write(tmp_path / "revenue", 1, metadata("id-revenue", **properties))
    assert not is_unchanged(Surveys().survey, meta)


class Counting:
    """A catalog that counts what it is asked."""

    def __init__(self, catalog: SqliteCatalog) -> None:
        self._catalog, self.asked = catalog, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self._catalog, name)


def test_a_report_asks_the_catalog_as_often_as_of_one_table_and_surveys_each_table_once(
    catalog: SqliteCatalog, tmp_path: Path
) -> None:
    def reads(name: str) -> Dependency:
        return Dependency(source_id=f"id-{name}", source_name=name, source_type=SourceType.STREAM_TABLE)

    edges = {"a": ["orders"], "b": ["a"], "c": ["b"], "top": ["b", "c"], "x": ["orders"], "y": ["x", "a"]}
    for name, sources in edges.items():
        catalog.insert(stored(tmp_path, name), [reads(each) for each in sources], now=NOON)
    asked = Counting(catalog)
    surveys = Surveys("x")
    unchanged = partial(UnchangedByLogs, warehouse(surveys.survey))
    rows = status(cast(CatalogReader, asked), NOON + timedelta(hours=1), timedelta(minutes=1), unchanged)
    assert {row.name: row.unchanged for row in rows} == {
        "default.a": True,
        "default.b": True,
        "default.c": True,
        "default.top": True,
        "default.x": False,
        "default.y": False,
    }
    assert asked.asked == {"get_all": 1, "all_dependencies": 1, "all_counters": 1}
    assert sorted(surveys.asked) == sorted(edges)


def test_the_next_report_looks_again(catalog: SqliteCatalog, tmp_path: Path) -> None:
    catalog.insert(stored(tmp_path, "a"), [], now=NOON)
    surveys = Surveys()
    unchanged = partial(UnchangedByLogs, warehouse(surveys.survey))
    for _ in range(2):
        (row,) = status(catalog, NOON + timedelta(hours=1), timedelta(minutes=1), unchanged)
        assert row.unchanged
    assert surveys.asked == ["a", "a"]


def test_stream_tables_in_a_circle_are_answered(tmp_path: Path) -> None:
    tables = [replace(stored(tmp_path, name), id=number) for number, name in enumerate("ab")]
    edges = [
        Dependency(
            source_id=f"id-{source}", source_name=source, source_type=SourceType.STREAM_TABLE, stream_table_id=reader
        )
        for reader, source in enumerate("ba")
    ]
    found = UnchangedByLogs(warehouse(Surveys().survey), tables, edges)
    assert all(found(each) for each in tables)
