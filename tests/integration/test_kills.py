"""A few kills of the long series that `make kills` runs, and proof that its witness can see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from kills.runner import Kills

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.jvm, pytest.mark.process]


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kills]:
    made = Kills(tmp_path_factory.mktemp("kills"), seed=1, say=print)
    yield made
    made.close()


def test_nothing_is_lost_doubled_or_wrong_after_kills(kills: Kills) -> None:
    # The tenth is of a whole process group.
    tally = kills.run(6, 11)
    print(tally.text())
    assert tally.findings.none, str(tally.findings)
    assert (tally.kills, tally.whole, tally.levels) == (6, 1, 1)
    assert tally.midway >= 2


def test_a_row_that_is_written_twice_is_found(kills: Kills) -> None:
    (path,) = Path(kills.folder / "stream_tables").glob("*/pairs-*")
    table = DeltaTable(path)
    write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")
    found = kills.witness.check()
    assert "pairs" in str(found.wrong)
    table.restore(table.version() - 1)
    write_deltalake(table, table.to_pyarrow_table().slice(1), mode="overwrite")
    assert not kills.witness.check().none
