"""A warehouse's session is there once it has been given its names, and for every thread from then on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api import open_lazily
from penstock.errors import CatalogError
from penstock.refresh.warehouse import Warehouse
from penstock.settings import Settings


class Session:
    stopped = 0

    def stop(self) -> None:
        self.stopped += 1


def warehouse(session: Any, started: Callable[[], None]) -> Warehouse:
    catalog: Any = SimpleNamespace(dependencies_of=None)
    return Warehouse(
        root=Path("w"),
        start=lambda: session,
        catalog=catalog,
        settings=Settings(),
        now=lambda: datetime.now(UTC),
        sleep=time.sleep,
        started=started,
    )


def test_names_that_could_not_be_restored_are_restored_by_the_next_try() -> None:
    session, tries = Session(), list[Any]()

    def restore() -> None:
        # It works with the session itself.
        tries.append(held.spark)
        if len(tries) == 1:
            raise CatalogError(why="the server is away", fix="Try again.")

    held = warehouse(session, restore)
    with pytest.raises(CatalogError):
        _ = held.spark
    assert not held.has_started
    assert held.spark is session
    assert (held.has_started, tries) == (True, [session, session])
    assert held.spark is session
    assert len(tries) == 2


def test_another_thread_waits_for_the_names() -> None:
    restoring, go_on = threading.Event(), threading.Event()

    def restore() -> None:
        restoring.set()
        assert go_on.wait(60)

    held, seen = warehouse(Session(), restore), list[bool]()
    first = threading.Thread(target=lambda: held.spark)
    other = threading.Thread(target=lambda: (held.spark, seen.append(go_on.is_set())))
    first.start()
    assert restoring.wait(60)
    other.start()
    other.join(0.05)
    assert (held.has_started, seen) == (False, [])
    go_on.set()
    first.join(60)
    other.join(60)
    assert seen == [True]


def test_a_session_whose_names_could_not_be_restored_is_stopped_with_the_warehouse(tmp_path: Path) -> None:
    session: Any = Session()
    opened = open_lazily(tmp_path)
    opened._warehouse.start = lambda: session
    opened._warehouse.started = _away
    with pytest.raises(CatalogError):
        opened.start()
    opened.close()
    assert session.stopped == 1


def _away() -> None:
    raise CatalogError(why="the server is away", fix="Try again.")
