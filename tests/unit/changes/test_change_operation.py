"""Four operations, four words, nothing else (REDDB-02, 04, 05)."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes.wire.change_operation import ChangeOperation


def test_the_four_words() -> None:
    assert [operation.as_str() for operation in ChangeOperation] == ["insert", "update", "delete", "refresh"]


@pytest.mark.parametrize("operation", list(ChangeOperation))
def test_a_word_comes_back_as_the_same_operation(operation: ChangeOperation) -> None:
    assert ChangeOperation.from_str(operation.as_str()) is operation
    assert copy.deepcopy(operation) is operation


@pytest.mark.parametrize("word", ["Insert", "INSERT", " insert", "insert ", "upsert", "", "c"])
def test_other_spellings_are_none(word: str) -> None:
    assert ChangeOperation.from_str(word) is None


@given(st.text())
def test_any_text_is_an_operation_or_none(word: str) -> None:
    found = ChangeOperation.from_str(word)
    assert (found is None) == (word not in {"insert", "update", "delete", "refresh"})
