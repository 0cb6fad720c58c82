"""The columns by which deltas read tables come from the programs themselves."""

from __future__ import annotations

import pytest

from bound_queries import BY_TITLE, CASES, Case
from penstock.compile.narrowed_columns import narrowed_columns
from penstock.operators.delta_query import STORED


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_every_column_found_is_one_of_a_source_or_of_the_storage(case: Case) -> None:
    stored = {column.name for column in case.plan.store.columns}
    sources = {source.id for source in case.bound.sources}
    for (table, column), places in narrowed_columns(case.plan).items():
        assert table in sources or (table == STORED and column in stored)
        assert places > 0


def found(title: str) -> set[tuple[str, str]]:
    return {pair for pair in narrowed_columns(BY_TITLE[title].plan) if pair[0] != STORED}


def test_a_join_reads_both_sides_by_its_key() -> None:
    assert found("inner join") == {("t", "k"), ("u", "k")}
    assert found("semi join") == {("t", "k"), ("u", "k")}
    assert found("left join") == {("t", "k"), ("u", "k")}


def test_a_window_reads_its_input_by_its_partitions() -> None:
    assert found("window") == {("t", "g")}
    assert found("window without partitions") == set()
