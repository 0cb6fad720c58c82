"""Holding a table: what happens to the lease is never the refresh's trouble, unless somebody else has it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.catalog import Lease, SqliteCatalog, StreamTableMeta
from penstock.errors import CatalogError, LeaseLost, QueryInvalid, TableBusy
from penstock.names import TableName
from penstock.refresh.lease import hold

MINUTE = timedelta(minutes=1)


class Shaky(SqliteCatalog):
    """A catalog that can be made to fail."""

    down = False

    def renew_lease(self, lease: Lease, duration: timedelta, *, now: datetime) -> Lease:
        self._fail_if_down()
        return super().renew_lease(lease, duration, now=now)

    def release_lease(self, lease: Lease) -> None:
        self._fail_if_down()
        super().release_lease(lease)

    def _fail_if_down(self) -> None:
        if self.down:
            raise CatalogError(why="the server does not answer", fix="Try again.")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Shaky]:
    with Shaky(tmp_path / "catalog.db") as opened:
        meta = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="")
        opened.insert(meta, [], now=opened.now())
        yield opened


def test_a_table_is_free_when_the_block_ends(catalog: Shaky) -> None:
    with hold(catalog, 1, MINUTE, catalog.now, time.sleep, timedelta(0)) as held:
        assert catalog.get_lease(1) == held.lease
    assert catalog.get_lease(1) is None


def test_an_interrupt_while_it_is_taken_leaves_it_free(catalog: Shaky, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken_and_interrupted(*given: Any, **named: Any) -> Lease:
        lease = SqliteCatalog.acquire_lease(catalog, *given, **named)
        os.kill(os.getpid(), signal.SIGINT)
        return lease

    monkeypatch.setattr(catalog, "acquire_lease", taken_and_interrupted)
    with pytest.raises(KeyboardInterrupt), hold(catalog, 1, MINUTE, catalog.now, time.sleep, timedelta(0)):
        pytest.fail("nothing is begun")
    assert catalog.get_lease(1) is None


def test_who_has_no_patience_is_told_at_once_and_who_has_some_waits(catalog: Shaky) -> None:
    taken = catalog.acquire_lease(1, "elsewhere:1:abc", MINUTE, now=catalog.now())
    with pytest.raises(TableBusy), hold(catalog, 1, MINUTE, catalog.now, time.sleep, timedelta(0)):
        pass
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        catalog.release_lease(taken)

    with hold(catalog, 1, MINUTE, catalog.now, sleep, MINUTE):
        assert len(slept) == 1


def test_a_refresh_that_is_done_stays_done_though_its_lease_cannot_be_freed(catalog: Shaky) -> None:
    with hold(catalog, 1, MINUTE, catalog.now, time.sleep, timedelta(0)):
        catalog.down = True
    catalog.down = False
    # It runs out by itself.
    with pytest.raises(TableBusy):
        catalog.acquire_lease(1, "elsewhere:1:abc", MINUTE, now=catalog.now())
    catalog.acquire_lease(1, "elsewhere:1:abc", MINUTE, now=catalog.now() + MINUTE)


def test_an_error_is_not_hidden_behind_that_of_the_catalog(catalog: Shaky) -> None:
    def fail() -> None:
        with hold(catalog, 1, MINUTE, catalog.now, time.sleep, timedelta(0)):
            catalog.down = True
            raise QueryInvalid(why="no such column", fix="")

    with pytest.raises(QueryInvalid):
        fail()


def test_a_lease_outlives_a_catalog_that_is_away_for_a_moment(catalog: Shaky) -> None:
    third = timedelta(seconds=0.3)
    with hold(catalog, 1, 3 * third, catalog.now, time.sleep, timedelta(0)) as held:
        first = held.lease.expires_at
        catalog.down = True
        time.sleep(1.5 * third.total_seconds())
        catalog.down = False
        deadline = time.monotonic() + 10
        while held.lease.expires_at == first:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_who_was_succeeded_finds_out_before_the_commit(catalog: Shaky) -> None:
    with hold(catalog, 1, MINUTE, catalog.now, time.sleep, timedelta(0)) as held:
        catalog.acquire_lease(1, "elsewhere:1:abc", MINUTE, now=catalog.now() + 2 * MINUTE)
        with pytest.raises(LeaseLost, match="elsewhere:1:abc"):
            held.check()
    # What it held is not its own to free any more.
    assert catalog.get_lease(1) is not None
