"""What is asked of a name that only a table can answer is found wherever it stands in a statement."""

from __future__ import annotations

import pytest

from penstock.lang.only_of_tables import only_of_tables


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("TABLE a VERSION AS OF 3 UNION TABLE b.c FOR VERSION AS OF 4",
         [("a", "VERSION AS OF 3"), ("b.c", "VERSION AS OF 4")]),
        ("INSERT INTO t TABLE `a b` FOR SYSTEM_TIME AS OF '2026-01-01'", [("`a b`", "SYSTEM_TIME AS OF '2026-01-01'")]),
        ("SELECT * FROM a TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY", [("a", "TIMESTAMP AS OF …")]),
        ("SELECT * FROM TABLE_CHANGES('a.b', 0) JOIN table_changes", [("a.b", "table_changes")]),
        ("DESC DETAIL a.b", [("a.b", "DESCRIBE DETAIL")]),
        ("DESCRIBE HISTORY TABLE a LIMIT 1", [("a", "DESCRIBE HISTORY")]),
        ("DESCRIBE EXTENDED a", []),
        ("DESCRIBE history", []),
        ("SELECT * FROM (SELECT 1) VERSION AS OF 1", []),
        ("SELECT 'a VERSION AS OF 3' -- a VERSION AS OF 3", []),
        ("VERSION AS OF", []),
        ("SELECT 'open", []),
    ],
)  # fmt: skip
def test_what_only_tables_answer(sql: str, found: list[tuple[str, str]]) -> None:
    assert [(each.name, each.asked) for each in only_of_tables(sql)] == found


@pytest.mark.parametrize(
    ("behind", "has_alias"),
    [("s", True), ("AS s", True), ("`s`", True), ("", False), ("WHERE s", False), ("JOIN s", False),
     ("ORDER BY s", False), ("SORT BY s", False), (") s", False), (", s", False)],
)  # fmt: skip
def test_rows_with_a_name_of_their_own_are_known(behind: str, has_alias: bool) -> None:
    for version in ("VERSION AS OF 3", "TIMESTAMP AS OF '2026-01-01'"):
        (found,) = only_of_tables(f"SELECT * FROM a {version} {behind}")
        assert (found.asked, found.has_alias) == (version, has_alias)
