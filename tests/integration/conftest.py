"""One nursery for all tests that need workers and no Spark warehouse of their own; and no stopwatch for any."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from by_guess import go_by_guess
from workers import Nursery


@pytest.fixture(autouse=True)
def by_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    go_by_guess(monkeypatch.setattr)


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    born = Nursery(tmp_path_factory.mktemp("nursery"))
    yield born
    born.close()
