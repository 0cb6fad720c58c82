"""One nursery for all tests that need workers and no Spark warehouse of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from workers import Nursery


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    born = Nursery(tmp_path_factory.mktemp("nursery"))
    yield born
    born.close()
