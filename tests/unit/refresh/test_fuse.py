"""The fuse blows on what is abnormal, and on nothing else."""

from __future__ import annotations

import pytest

from penstock.refresh.stages.fuse import is_blown, largest


@pytest.mark.parametrize(
    ("pending", "usual", "blown"),
    [(1_000_001, 10_000, True), (1_000_000, 10_000, False), (99_999, 1, False), (100_001, 0, True)],
)
def test_what_blows_it(pending: int, usual: int, blown: bool) -> None:
    assert is_blown(pending, usual, factor=100) is blown


def test_of_few_runs_nothing_is_known() -> None:
    assert largest([5, None, 7]) is None
    assert largest([5, 9, 7, None]) == 9
