"""One nursery for all tests that need workers and no Spark warehouse of their own; and no stopwatch for any."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from workers import Nursery


@pytest.fixture(autouse=True, scope="module")
def by_guess() -> Iterator[None]:
    """How fast a machine is today decides no test's mode; what past runs took is still recorded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_LEARN_COSTS", "false")
        yield


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    born = Nursery(tmp_path_factory.mktemp("nursery"))
    yield born
    born.close()
