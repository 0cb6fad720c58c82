"""A commit on a terminal: marks and changed cells have colours, text of the user's data has none of its own."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from fake_tables import REVENUE, commit, revenue_commits
from rich.console import Console

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.cli.render.change_block import print_block

GREEN, RED, YELLOW, CYAN = "\x1b[1;32m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"


def printed(changes: CommitChanges, limit: int = 0, *, colour: bool = True) -> str:
    out = io.StringIO()
    system: Any = "standard" if colour else None
    print_block(
        Console(file=out, force_terminal=colour, color_system=system, width=100, markup=False, highlight=False),
        changes,
        limit,
    )
    return out.getvalue()


@pytest.fixture(autouse=True)
def with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_marks_have_colours() -> None:
    every_kind = printed(revenue_commits()[1])
    assert f"{GREEN}+" in every_kind
    assert f"{RED}−" in every_kind
    assert f"{YELLOW}~" in every_kind
    assert f"{CYAN}=" in printed(revenue_commits()[0])


def test_only_cells_that_changed_are_emphasised() -> None:
    changes = commit(3, 3, REVENUE, was=[("north", Decimal(1), 2)], now=[("north", Decimal(2), 2)])
    text = printed(changes)
    assert f"\x1b[31m1.00\x1b[0m\x1b[2m → \x1b[0m{GREEN}2.00\x1b[0m" in text
    assert text.count("→") == 1


def test_nan_that_stays_nan_has_not_changed() -> None:
    schema = pa.schema([("k", pa.int64()), ("share", pa.float64())])
    nan = float("nan")
    text = printed(commit(3, 3, schema, was=[(1, nan)], now=[(2, nan)]), colour=False)
    assert "1 → 2    NaN" in text


def test_a_long_commit_is_cut_and_counted() -> None:
    lines = printed(revenue_commits()[2], 3, colour=False).splitlines()
    assert sum(line.startswith("+") for line in lines) == 3
    assert "… and 27 more" in lines


def test_the_cut_goes_over_all_kinds() -> None:
    marks = [line[0] for line in printed(revenue_commits()[1], 3, colour=False).splitlines()[3:6]]
    assert marks == ["−", "~", "~"]


def test_a_commit_of_which_nothing_was_chosen_says_so() -> None:
    nothing = printed(commit(3, 3, REVENUE, anew=True, refreshed=[]), colour=False)
    assert "all 0 rows" in nothing
