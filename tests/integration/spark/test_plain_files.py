"""Sources of plain files: a name that stands for other files now, in this session or in another process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.api import StreamTables


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_name_that_stands_for_other_files_now_is_read_there(ps: StreamTables, tmp_path: Path, form: str) -> None:
    for number, place in enumerate(("one", "two"), 1):
        ps.sql(f"CREATE TABLE {place} (id INT) USING {form} LOCATION '{tmp_path / place}'")
        ps.sql(f"INSERT INTO {place} VALUES ({number})")
    ps.sql(f"CREATE TABLE files (id INT) USING {form} LOCATION '{tmp_path / 'one'}'")
    ps.sql("CREATE STREAM TABLE st AS SELECT sum(id) AS total FROM files")
    assert [tuple(row) for row in ps.table("st").collect()] == [(1,)]
    # The old files stay where they are, as those of every table do that is only registered.
    ps.sql("DROP TABLE files", yes=True)
    ps.sql(f"CREATE TABLE files (id INT) USING {form} LOCATION '{tmp_path / 'two'}'")
    ps.refresh("st")
    assert [tuple(row) for row in ps.table("st").collect()] == [(2,)]
    assert ps.audit("st").exact
