"""Changelog records: the weight decides, and the bytes come back whole or not at all."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import mutated, thorough
from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.errors import InvalidChange, UnreadableChange

I64 = st.integers(-(2**63), 2**63 - 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | I64 | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def test_changelog_record_insert() -> None:
    record = ChangelogRecord.insert("hello", 1000)
    assert record == ChangelogRecord("hello", 1, 1000, CdcOperation.INSERT)
    assert record.is_insert()
    assert not record.is_delete()


def test_changelog_record_delete() -> None:
    record = ChangelogRecord.delete("goodbye", 2000)
    assert record == ChangelogRecord("goodbye", -1, 2000, CdcOperation.DELETE)
    assert record.is_delete()
    assert not record.is_insert()


def test_retraction_pair() -> None:
    before, after = ChangelogRecord.retraction("old", "new", 3000)
    assert before == ChangelogRecord("old", -1, 3000, CdcOperation.UPDATE_BEFORE)
    assert after == ChangelogRecord("new", 1, 3000, CdcOperation.UPDATE_AFTER)


def test_weights_are_multiplicities() -> None:
    assert ChangelogRecord("x", 5, 0, CdcOperation.INSERT).is_insert()
    assert ChangelogRecord("x", -5, 0, CdcOperation.UPDATE_BEFORE).is_delete()


@pytest.mark.parametrize("operation", CdcOperation)
def test_weight_zero_is_neither(operation: CdcOperation) -> None:
    record = ChangelogRecord("x", 0, 0, operation)
    assert not record.is_insert()
    assert not record.is_delete()


@pytest.mark.parametrize("operation", CdcOperation)
def test_an_operation_against_the_weight_is_refused(operation: CdcOperation) -> None:
    with pytest.raises(InvalidChange, match="disagree"):
        ChangelogRecord("x", -operation.weight(), 0, operation)


@given(PLAIN, I64.filter(bool), I64, st.booleans())
def test_records_as_bytes_and_back(data: Any, weight: int, timestamp: int, update: bool) -> None:
    names = (CdcOperation.UPDATE_AFTER, CdcOperation.UPDATE_BEFORE) if update else tuple(CdcOperation)[:2]
    record = ChangelogRecord(data, weight, timestamp, names[weight < 0])
    assert ChangelogRecord.from_bytes(record.to_bytes()) == record


def test_a_record_batch_as_bytes_and_back() -> None:
    batch = pa.record_batch({"id": [1, 2], "name": ["a", None]})
    again = ChangelogRecord.from_bytes(ChangelogRecord.insert(batch, 7).to_bytes())
    assert again.data.equals(batch)


def test_data_without_a_binary_form_is_refused() -> None:
    with pytest.raises(InvalidChange, match="object has no binary form"):
        ChangelogRecord.insert(object(), 1).to_bytes()


@thorough
@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_refused(data: bytes) -> None:
    _read(data)


@thorough
@given(mutated(ChangelogRecord.insert({"id": 1, "name": "a", "list": [1.5, None]}, 1000).to_bytes()))
def test_a_mutated_record_is_a_record_or_refused(data: bytes) -> None:
    _read(data)


@thorough
@given(mutated(ChangelogRecord.insert(pa.record_batch({"id": [1, 2], "name": ["a", None]}), 7).to_bytes()))
def test_a_mutated_batch_is_a_batch_or_refused(data: bytes) -> None:
    _read(data)


def _read(data: bytes) -> None:
    try:
        record = ChangelogRecord.from_bytes(data)
    except UnreadableChange:
        return
    assert isinstance(record.operation, CdcOperation)
    if isinstance(record.data, pa.RecordBatch):
        record.data.validate(full=True)
