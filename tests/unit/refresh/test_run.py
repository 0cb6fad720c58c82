"""A worker that has lost its table commits nothing, whatever it was about to commit; and what is done stays done."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog import Action, SqliteCatalog, StreamTableMeta
from penstock.errors import LeaseLost
from penstock.names import Frontier, Interval, TableName
from penstock.refresh import run
from penstock.refresh.attempt import Attempt
from penstock.refresh.lease import hold
from penstock.refresh.run import Refresher
from penstock.refresh.stages import commit as committing
from penstock.refresh.stages.commit import CARRY_AFTER
from penstock.refresh.stages.compute import Bytes, Computed, Figures
from penstock.refresh.stages.decide import Decided, Decision
from penstock.refresh.stages.pin import Pinned, Pins
from penstock.refresh.stages.plan import Planned
from penstock.refresh.stages.survey import Surveyed
from penstock.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    with SqliteCatalog(tmp_path / "catalog.db") as opened:
        meta = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="h")
        opened.insert(meta, [], now=opened.now())
        yield opened


def about_to_commit(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch, action: Action, changes: bool
) -> tuple[Attempt, Decided]:
    """A refresh up to its last stage."""
    # The newest commit is so old that its frontier is to be carried into another one.
    record = SimpleNamespace(data_timestamp=NOW - 2 * CARRY_AFTER, last_lsn=1)
    state: Any = SimpleNamespace(
        record=record, record_version=7, version=7, foreign=(), not_fast=None, marks=False, handle=None
    )
    definition: Any = SimpleNamespace(hash="h", id="a")
    nothing: Any = None
    attempt = Attempt(catalog.get_all()[0])
    after = Frontier.of({"t": 1}, NOW)
    pinned = Pinned(attempt.meta, definition, state, Pins({}, NOW), storage=nothing)
    surveyed = Surveyed(definition, None, after, {}, {}, None)
    planned = Planned(pinned, surveyed, workspace=nothing, plan=nothing, rebuild=None)
    decided = Decided(planned, Decision(action), Interval(after, after), False, Settings())
    figures = Figures(0, 0, 0, 0, 0, 0, 0, Bytes(0, 0, 0))
    write: Any = SimpleNamespace() if changes else None
    computed = Computed(decided, decided.decision, figures, write)
    monkeypatch.setattr(run, "compute", lambda *_: computed)
    return attempt, decided


def refresher_of(catalog: SqliteCatalog, recorder: Any, logs: Any = None) -> Refresher:
    nothing: Any = None
    return Refresher(catalog, Settings(), nothing, logs, nothing, nothing, catalog.now, time.sleep, recorder=recorder)


@pytest.mark.parametrize("action", [Action.NO_DATA, Action.INCREMENTAL, Action.FULL])
@pytest.mark.parametrize("changes", [True, False])
def test_who_lost_the_table_commits_neither_rows_nor_a_frontier(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch, action: Action, changes: bool
) -> None:
    committed: list[object] = []

    def landed(*what: object, **how: object) -> object:
        committed.append(what)
        return SimpleNamespace(version=8, applier="test")

    attempt, decided = about_to_commit(catalog, monkeypatch, action, changes)
    monkeypatch.setattr(committing, "write_change", landed)
    monkeypatch.setattr(committing, "commit_frontier_only", landed)
    recorder: Any = SimpleNamespace(redefined=None, completed=None)
    refresher = refresher_of(catalog, recorder)
    with hold(catalog, attempt.meta.id, MINUTE, catalog.now, time.sleep, timedelta(0)) as held:
        catalog.acquire_lease(attempt.meta.id, "elsewhere:1:abc", MINUTE, now=catalog.now() + 2 * MINUTE)
        with pytest.raises(LeaseLost, match="elsewhere:1:abc"):
            refresher._carried_out(attempt, decided, held, None, ExitStack())
    assert committed == []


def test_a_refresh_that_is_recorded_does_not_fail_for_a_handle_that_cannot_be_kept(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stale(_: str) -> None:
        raise OSError(errno.ESTALE, "Stale file handle")

    attempt, decided = about_to_commit(catalog, monkeypatch, Action.INCREMENTAL, changes=True)
    monkeypatch.setattr(run, "commit", lambda *_: None)
    recorder: Any = SimpleNamespace(redefined=None, completed=lambda *_: "the result")
    refresher = refresher_of(catalog, recorder, logs=SimpleNamespace(at=stale))
    with hold(catalog, attempt.meta.id, MINUTE, catalog.now, time.sleep, timedelta(0)) as held:
        assert refresher._carried_out(attempt, decided, held, None, ExitStack()) == "the result"
