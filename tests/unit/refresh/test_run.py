"""A worker that has lost its table commits nothing, whatever it was about to commit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog import Action, SqliteCatalog, StreamTableMeta
from penstock.errors import LeaseLost
from penstock.names import Frontier, TableName
from penstock.refresh import run
from penstock.refresh.attempt import Attempt
from penstock.refresh.lease import hold
from penstock.refresh.run import CARRY_AFTER, Refresher
from penstock.refresh.stages.decide import Decision
from penstock.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    with SqliteCatalog(tmp_path / "catalog.db") as opened:
        meta = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="h")
        opened.insert(meta, [], now=opened.now())
        yield opened


@pytest.mark.parametrize("action", [Action.NO_DATA, Action.INCREMENTAL, Action.FULL])
@pytest.mark.parametrize("changes", [True, False])
def test_who_lost_the_table_commits_neither_rows_nor_a_frontier(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch, action: Action, changes: bool
) -> None:
    committed: list[object] = []

    def commit(*what: object, **how: object) -> object:
        committed.append(what)
        return SimpleNamespace(version=8, applier="test")

    decision = Decision(action)
    computed = SimpleNamespace(
        redefined=None,
        change=object() if changes else None,
        decision=decision,
        commit=commit,
        rows_inserted=0,
        rows_deleted=0,
        events=0,
        replaces=False,
    )
    monkeypatch.setattr(run, "compute", lambda *_: computed)
    monkeypatch.setattr(run, "carry_frontier", commit)
    # The newest commit is so old that its frontier is to be carried into another one.
    record = SimpleNamespace(data_timestamp=NOW - 2 * CARRY_AFTER, last_lsn=1)
    pin = SimpleNamespace(record=record, record_version=7, version=7, foreign=(), not_fast=None, marks=False)
    definition = SimpleNamespace(hash="h", id="a")
    work: Any = SimpleNamespace(storage=None, pin=pin, definition=definition, plan=None)
    situation: Any = SimpleNamespace(before=None, after=Frontier.of({"t": 1}, NOW), cause=None)
    nothing: Any = None
    refresher = Refresher(
        catalog, Settings(), nothing, nothing, nothing, nothing, catalog.now, time.sleep, recorder=nothing
    )
    attempt = Attempt(catalog.get_all()[0])
    with hold(catalog, attempt.meta.id, MINUTE, catalog.now, time.sleep, timedelta(0)) as held:
        catalog.acquire_lease(attempt.meta.id, "elsewhere:1:abc", MINUTE, now=catalog.now() + 2 * MINUTE)
        with pytest.raises(LeaseLost, match="elsewhere:1:abc"):
            refresher._carried_out(attempt, work, decision, situation, held, None)
    assert committed == []
