"""A Delta table whose files somebody copied: both folders bear one table id, and neither is taken for the other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.errors import SourceCopied
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


def counted(ps: StreamTables, name: str) -> int:
    return int(ps.table(name).collect()[0][0])


def test_each_folder_is_read_for_itself_and_both_together_are_refused(ps: StreamTables, tmp_path: Path) -> None:
    ps.sql("CREATE TABLE o (id INT); INSERT INTO o VALUES (1), (2)")
    location = str(ps.sql("DESCRIBE DETAIL o").collect()[0]["location"]).removeprefix("file:")
    copy = tmp_path / "o_copy"
    shutil.copytree(location, copy)
    ps.sql(f"CREATE TABLE o_copy USING DELTA LOCATION '{copy}'")
    ps.sql(
        "CREATE STREAM TABLE a AS SELECT count(*) AS n FROM o;CREATE STREAM TABLE b AS SELECT count(*) AS n FROM o_copy"
    )
    for query in (
        "SELECT id FROM o UNION ALL SELECT id + 10 FROM o_copy",
        "SELECT a.n AS x, b.n AS y FROM a CROSS JOIN b",
        "SELECT n FROM a UNION ALL SELECT id FROM o_copy",
    ):
        with pytest.raises(SourceCopied, match="o_copy have the same Delta table id"):
            ps.create_stream_table("c", query)
    for changed, at in (("o", 3), ("o_copy", 4), ("o_copy", 5)):
        ps.sql(f"INSERT INTO {changed} VALUES ({at})")
        ps.refresh_all()
        for name, source in (("a", "o"), ("b", "o_copy")):
            assert_exact(ps, name)
            assert counted(ps, name) == ps.sql(f"SELECT * FROM {source}").count()
        assert counted(ps, "b") == int(ps.table("b", fresh=True).collect()[0][0])
    with pytest.raises(SourceCopied):
        ps.sql("ALTER STREAM TABLE b AS SELECT b.n FROM (SELECT count(*) AS n FROM o_copy) b CROSS JOIN a")
    ps.sql("CREATE TABLE own AS SELECT * FROM o_copy")
    ps.sql("CREATE STREAM TABLE c AS SELECT id FROM o UNION ALL SELECT id + 10 FROM own")
    assert_exact(ps, "c")
