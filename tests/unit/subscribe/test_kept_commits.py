"""Kept commits: up to a number of bytes, those that were asked for longest ago leave first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.subscribe import kept_commits
from penstock.subscribe.kept_commits import KeptCommits


def commit(size: int) -> CommitChanges:
    return cast(CommitChanges, SimpleNamespace(nbytes=size))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> KeptCommits[Any]:
    monkeypatch.setattr(kept_commits, "KEPT_BYTES", 100)
    return KeptCommits()


def test_the_one_asked_for_longest_ago_leaves(kept: KeptCommits[int]) -> None:
    commits = {version: commit(40) for version in (1, 2, 3)}
    kept.put(1, commits[1])
    kept.put(2, commits[2])
    assert kept.get(1) is commits[1]
    kept.put(3, commits[3])
    assert [version for version in (1, 2, 3) if version in kept] == [1, 3]
    assert kept.get(2) is None


def test_the_newest_stays_however_large(kept: KeptCommits[int]) -> None:
    kept.put(1, commit(10))
    large = commit(1000)
    kept.put(2, large)
    assert (1 in kept, kept.get(2)) == (False, large)


def test_a_commit_counts_once(kept: KeptCommits[int]) -> None:
    for _ in range(5):
        kept.put(1, commit(40))
    kept.put(2, commit(40))
    assert 1 in kept
