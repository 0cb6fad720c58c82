"""What `/changes` takes a request for (REDDB-X1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes.wire.changes_query import ChangesQuery


def test_the_defaults() -> None:
    assert ChangesQuery.read() == ChangesQuery(since_lsn=0, limit=100)


@pytest.mark.parametrize("text", ["", "x", "-1", "+1", "1.0", " 1", "٣", "1_000", str(2**64), "9" * 5000])
def test_what_cannot_be_read_is_as_good_as_none(text: str) -> None:
    assert ChangesQuery.read(text, text) == ChangesQuery()


@pytest.mark.parametrize(("text", "limit"), [("0", 0), ("1", 1), ("10000", 10_000), ("10001", 10_000)])
def test_the_limit(text: str, limit: int) -> None:
    assert ChangesQuery.read(limit=text).limit == limit


def test_the_cursor_uses_all_64_bits() -> None:
    assert ChangesQuery.read(str(2**64 - 1)).since_lsn == 2**64 - 1


@given(st.text() | st.integers().map(str), st.text() | st.integers().map(str))
def test_any_texts_give_a_query(since: str, limit: str) -> None:
    query = ChangesQuery.read(since, limit)
    assert 0 <= query.since_lsn < 2**64
    assert 0 <= query.limit <= 10_000
