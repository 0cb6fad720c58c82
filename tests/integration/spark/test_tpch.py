"""The 22 TPC-H queries as stream tables: always incremental, always equal to the query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.tpch.generate import generate
from benchmarks.tpch.history import History
from benchmarks.tpch.load import count_rows, load
from benchmarks.tpch.queries import Query, queries

from penstock.errors import PenstockError
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

SCALE = 0.001


@pytest.mark.slow
def test_every_query_is_maintained_and_exact(ps: StreamTables, tmp_path: Path) -> None:
    _follow(ps, tmp_path, list(queries(SCALE)))


def _follow(ps: StreamTables, tmp_path: Path, chosen: list[Query]) -> None:
    data = tmp_path / "generated"
    data.mkdir()
    # One file a table: this is about rows, the benchmark is about files.
    load(ps, generate(SCALE, data), coarser=32)
    # So small a set leaves many results empty; large changes move them.
    history = History(ps, data, count_rows(ps), share=0.3)
    changed: dict[str, int] = {}
    wrong = [told for query in chosen if (told := _create(ps, query))]
    history.update(1)
    history.move_nations(1)
    wrong += [told for query in chosen if (told := _refresh(ps, query, changed))]
    history.refresh_functions()
    history.come_and_go(1)
    history.move_nations(2)
    wrong += [told for query in chosen if (told := _refresh(ps, query, changed))]
    assert not wrong, "\n".join(wrong)
    assert [name for name, count in changed.items() if not count] == [], "a result that never moves proves nothing"


def _create(ps: StreamTables, query: Query) -> str | None:
    try:
        ps.create_stream_table(query.name, query.text, refresh_mode="INCREMENTAL")
    except PenstockError as error:
        return f"{query.name}: {error}"
    return None


def _refresh(ps: StreamTables, query: Query, changed: dict[str, int]) -> str | None:
    """What was wrong, so that one run tells it of all queries."""
    try:
        result = ps.refresh(query.name)
        changed[query.name] = changed.get(query.name, 0) + result.rows_inserted + result.rows_deleted
        assert_exact(ps, query.name, "INCREMENTAL", result, to_the_bit=True)
    except (PenstockError, AssertionError) as error:
        return f"{query.name}: {error}"
    return None
