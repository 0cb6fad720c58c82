"""Which columns an update changed (REDDB-08)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes.ring.changed_columns import changed_columns

NAN = float("nan")


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ("b",)),
        ({"a": 1}, {"a": 1, "b": None}, ("b",)),
        ({"a": 1, "b": None}, {"a": 1}, ("b",)),
        ({"a": None}, {"a": 0}, ("a",)),
        ({"a": NAN}, {"a": NAN}, ()),
        ({"a": NAN}, {"a": 1.0}, ("a",)),
        ({"a": 0.0}, {"a": -0.0}, ("a",)),
        ({"a": [NAN, {"x": 1}]}, {"a": [NAN, {"x": 1}]}, ()),
        ({"a": [{"x": 0.0}]}, {"a": [{"x": -0.0}]}, ("a",)),
        ({"a": [1]}, {"a": [1, 2]}, ("a",)),
        ({"a": {"x": 1}}, {"a": {"y": 1}}, ("a",)),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, ("a", "b")),
    ],
)
def test_columns_that_differ(before: dict[str, Any], after: dict[str, Any], changed: tuple[str, ...]) -> None:
    assert changed_columns(before, after) == changed


ROWS = st.dictionaries(st.sampled_from("abcdef"), st.none() | st.integers(0, 2) | st.floats())


@given(ROWS, ROWS)
def test_putting_the_changed_columns_back_gives_the_old_row(before: dict[str, Any], after: dict[str, Any]) -> None:
    changed = changed_columns(before, after)
    undone = {name: value for name, value in after.items() if name not in changed}
    undone |= {name: before[name] for name in changed if name in before}
    assert changed_columns(before, undone) == ()
    assert sorted(changed) == sorted(changed_columns(after, before))
