"""References: twelve bytes, and nothing is cut off to fit them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_ref import DTYPE, ChangelogRef, refs, scalars
from penstock.errors import InvalidChange, UnreadableChange

REFS = st.builds(
    ChangelogRef,
    st.just(7),
    st.integers(0, 2**32 - 1),
    st.integers(-(2**15), 2**15 - 1),
    st.sampled_from(CdcOperation),
)


def test_the_layout() -> None:
    assert DTYPE.itemsize == 12
    assert {name: dict(DTYPE.fields or ())[name][1] for name in DTYPE.names or ()} == {
        "batch_offset": 0,
        "row_index": 4,
        "weight": 8,
        "operation": 10,
    }


@given(st.lists(REFS))
def test_a_batch_is_the_same_as_one_by_one(each: list[ChangelogRef]) -> None:
    array = refs(
        7,
        np.array([ref.row_index for ref in each], np.int64),
        np.array([ref.weight for ref in each], np.int64),
        np.array([ref.operation.value for ref in each], np.int64),
    )
    assert array.dtype == DTYPE
    assert list(scalars(array)) == each
    one_by_one = np.zeros(len(each), DTYPE)
    for at, ref in enumerate(each):
        one_by_one[at] = ref.to_row()
    assert array.tobytes() == one_by_one.tobytes()


def test_one_weight_and_operation_for_all() -> None:
    array = refs(3, np.arange(2), 1, 0)
    assert list(scalars(array)) == [ChangelogRef(3, row, 1, CdcOperation.INSERT) for row in range(2)]


@pytest.mark.parametrize(
    ("offset", "row", "weight", "operation"),
    [(2**32, 0, 1, 0), (-1, 0, 1, 0), (0, 2**32, 1, 0), (0, -1, 1, 0), (0, 0, 2**15, 0), (0, 0, -(2**15) - 1, 0)],
)
def test_what_does_not_fit_is_refused(offset: int, row: int, weight: int, operation: int) -> None:
    with pytest.raises(InvalidChange, match="32 bits"):
        refs(offset, np.array([row]), np.array([weight]), np.array([operation]))
    with pytest.raises(InvalidChange, match="32 bits"):
        ChangelogRef(offset, row, weight, CdcOperation.INSERT)


@pytest.mark.parametrize("byte", [4, 255])
def test_no_operation_is_refused(byte: int) -> None:
    with pytest.raises(InvalidChange):
        refs(0, np.array([0]), np.array([1]), np.array([byte], np.uint8))
    foreign = np.zeros(1, DTYPE)
    foreign["operation"] = byte
    with pytest.raises(UnreadableChange):
        list(scalars(foreign))


def test_fractions_are_refused() -> None:
    with pytest.raises(InvalidChange, match="integers"):
        refs(0, np.array([0]), np.array([1.5]), np.array([0]))
