"""Whether rows are right however old, from hand-written logs; what a survey says is made up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from monitored import NOON
from test_delta_log import PROTOCOL, metadata, write

from penstock.catalog import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.write.storage_state import storage_state
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY
from penstock.monitor.unchanged import is_unchanged, surveyed
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
    """Surveys that find nothing, but of what is named; each is counted."""

    def __init__(self, *changed: str) -> None:
        self.changed, self.asked = changed, list[str]()

    def survey(self, seen: Any) -> Any:
        self.asked.append(seen.meta.name.table)
        changed = seen.meta.name.table in self.changed
        return SimpleNamespace(before=Frontier.of({}, NOON), rebuild=None, data_changed=changed)


def warehouse(survey: Any, *tables: StreamTableMeta) -> Any:
    catalog = SimpleNamespace(get_all=lambda: list(tables), dependencies_of=lambda _: [])
    refresher = SimpleNamespace(survey=survey)
    return SimpleNamespace(catalog=catalog, refresher=refresher, logs=Logs(), now=lambda: NOON, has_started=True)


def test_a_session_that_is_gone_cannot_say_that_a_view_is_the_same(tmp_path: Path) -> None:
    class GatewayIsDown(Exception):
        """As py4j's errors, which are no errors of Penstock."""

    def survey(_: object) -> None:
        raise GatewayIsDown

    meta = stored(tmp_path, "revenue", views={"v": "hash"})
    gone = warehouse(survey, meta)
    assert not is_unchanged(gone, meta)
    assert surveyed(gone, meta, storage_state(gone.logs.at(meta.path))) == (None, False)
    assert is_unchanged(warehouse(Surveys().survey, meta), meta)


@pytest.mark.parametrize("properties", [{}, {ID_KEY: "st"}, {ID_KEY: "st", DEFINITION_KEY: "{}"}])
def test_a_storage_that_is_no_stream_tables_is_not_known_to_be_the_same(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    meta = stored(tmp_path, "revenue")
    write(tmp_path / "revenue", 1, metadata("id-revenue", **properties))
    assert not is_unchanged(warehouse(Surveys().survey, meta), meta)
