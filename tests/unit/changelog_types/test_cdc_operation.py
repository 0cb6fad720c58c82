"""Operations: weights, bytes, and that bytes of something else are refused."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import thorough
from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.errors import UnreadableChange


def test_weights_and_codes() -> None:
    assert [(each.code, each.weight(), each.is_insert(), each.is_delete()) for each in CdcOperation] == [
        ("+I", 1, True, False),
        ("-D", -1, False, True),
        ("-U", -1, False, True),
        ("+U", 1, True, False),
    ]


def test_an_operation_is_a_value() -> None:
    for operation in CdcOperation:
        assert copy.deepcopy(operation) is operation
        assert pickle.loads(pickle.dumps(operation)) is operation
        assert str(operation) == operation.code
    assert len({*CdcOperation, *CdcOperation}) == 4


def test_bytes_and_back() -> None:
    assert [each.to_u8() for each in CdcOperation] == [0, 1, 2, 3]
    for operation in CdcOperation:
        assert CdcOperation.from_u8(operation.to_u8()) is operation
        assert CdcOperation.from_bytes(operation.to_bytes()) is operation


@pytest.mark.parametrize("byte", [-1, 4, 255, 256])
def test_another_number_is_no_operation(byte: int) -> None:
    assert CdcOperation.from_u8(byte) is None


@thorough
@given(st.binary(max_size=20))
def test_any_bytes_are_an_operation_or_refused(data: bytes) -> None:
    if len(data) == 1 and data[0] < 4:
        assert CdcOperation.from_bytes(data).to_bytes() == data
    else:
        with pytest.raises(UnreadableChange):
            CdcOperation.from_bytes(data)
