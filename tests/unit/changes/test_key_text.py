from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes.wire.key_text import is_prefix, key_texts, matches

WORDS = st.text(alphabet="a.*\\N1", max_size=4) | st.none()


def text_of(*values: Any) -> str:
    names = [f"k{place}" for place in range(len(values))]
    return key_texts(pa.table({name: [value] for name, value in zip(names, values, strict=True)}), names)[0]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("eu", "Paris", 3), "eu.Paris.3"),
        (("eu", None), r"eu.\N"),
        (("a.b", "c"), r"a\.b.c"),
        (("cart.1",), "cart.1"),
        ((r"a\b*",), r"a\\b\*"),
        ((r"\N",), r"\\N"),
        (("",), ""),
        ((Decimal("1.50"),), "1.50"),
        ((1.0, True), "1.true"),
        ((datetime(2026, 1, 2, 3, tzinfo=UTC), 0.5), r"2026-01-02T03:00:00\.000000Z.0\.5"),
    ],
)
def test_a_key_is_its_values_joined_by_dots(values: tuple[Any, ...], text: str) -> None:
    assert text_of(*values) == text


@given(st.lists(st.tuples(WORDS, WORDS), min_size=2, max_size=2, unique=True))
def test_two_keys_never_have_the_same_text(keys: list[tuple[str | None, str | None]]) -> None:
    rows = pa.table(
        {"a": pa.array([a for a, _ in keys], pa.string()), "b": pa.array([b for _, b in keys], pa.string())}
    )
    one, other = key_texts(rows, ("a", "b"))
    assert one != other
    alone = key_texts(rows, ("a",))
    assert (alone[0] == alone[1]) == (keys[0][0] == keys[1][0])


@given(WORDS, WORDS)
def test_no_key_looks_like_a_prefix(first: str | None, second: str | None) -> None:
    rows = pa.table({"a": pa.array([first], pa.string()), "b": pa.array([second], pa.string())})
    assert not is_prefix(key_texts(rows, ("a", "b"))[0])
    assert not is_prefix(key_texts(rows, ("a",))[0])


def test_a_prefix_goes_by_whole_values_of_a_key_with_several_columns() -> None:
    assert matches(text_of("eu", "Paris"), "eu.*")
    assert not matches(text_of("eu.x", "Paris"), "eu.*")
    assert matches(text_of("eu.x", "Paris"), r"eu\.x.*")
    assert not matches(text_of("eu"), "eu.*")
