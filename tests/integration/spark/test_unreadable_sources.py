"""A source whose log cannot be read is one line of error, for whoever defines a stream table or explains a query."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.api import StreamTables


def folder(commit: Path) -> None:
    commit.unlink()
    commit.mkdir()


def loop(commit: Path) -> None:
    commit.unlink()
    commit.symlink_to(commit)


def garbage(commit: Path) -> None:
    commit.write_bytes(b"\x00{garbage")


def out_of_reach(commit: Path) -> None:
    """As where a user may not look: every name below is refused."""
    log = commit.parent
    log.rename(log.with_name("kept"))
    log.symlink_to(log)


@pytest.mark.parametrize("broken", [folder, loop, garbage, out_of_reach])
def test_an_unreadable_log_is_one_line(ps: StreamTables, tmp_path: Path, broken: Callable[[Path], None]) -> None:
    ps.sql("CREATE TABLE fine AS SELECT 1 AS id; CREATE STREAM TABLE st AS SELECT id FROM fine")
    ps.sql(f"CREATE TABLE delta.`{tmp_path}/away` (id INT) USING delta; INSERT INTO delta.`{tmp_path}/away` VALUES (1)")
    ps.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    for commit in sorted((tmp_path / "away" / "_delta_log").glob("*.json"))[-1:]:
        broken(commit)
    for crc in (tmp_path / "away").rglob("*.crc"):
        crc.unlink()
    query = f"SELECT id FROM delta.`{tmp_path}/away`"
    for statement in (
        f"CREATE STREAM TABLE made AS {query}",
        f"ALTER STREAM TABLE st AS {query}",
        f"EXPLAIN STREAM TABLE {query}",
    ):
        with pytest.raises(PenstockError) as told:
            ps.sql(statement)
        assert len(told.value.text) < 500
        assert "\n" not in told.value.text
        assert "refresh" not in told.value.advice
        assert not [word for word in ("Py4J", "\tat ", "o.apache", "Traceback") if word in str(told.value)]
    assert [row.name for row in ps.status()] == ["shop.st"]
