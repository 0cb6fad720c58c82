"""A changelog record that points at a row of a batch instead of holding data: 12 bytes, copied by value.

    batch_offset u32 at 0 · row_index u32 at 4 · weight i16 at 8 · operation u8 at 10 · one byte of padding

Many references are one NumPy array of `DTYPE`; `ChangelogRef` is a single one. What does not fit its width is refused,
never cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.errors import InvalidChange, UnreadableChange

DTYPE = np.dtype(
    {
        "names": ["batch_offset", "row_index", "weight", "operation"],
        "formats": ["<u4", "<u4", "<i2", "u1"],
        "offsets": [0, 4, 8, 10],
        "itemsize": 12,
    }
)


@dataclass(frozen=True, slots=True)
class ChangelogRef:
    """One reference."""

    batch_offset: int
    row_index: int
    weight: int
    operation: CdcOperation

    def __post_init__(self) -> None:
        if not (0 <= self.batch_offset < 2**32 and 0 <= self.row_index < 2**32 and -(2**15) <= self.weight < 2**15):
            raise _too_wide(f"{self.batch_offset}, {self.row_index}, {self.weight}")

    def to_row(self) -> tuple[int, int, int, int]:
        """The reference as it is assigned to a place of an array."""
        return self.batch_offset, self.row_index, self.weight, self.operation.value


def refs(
    batch_offset: int, row_indices: npt.ArrayLike, weights: npt.ArrayLike, operations: npt.ArrayLike
) -> npt.NDArray[np.void]:
    """References to many rows of one batch; weights and operations may be one for all."""
    rows = _fitting(np.asarray(row_indices), 0, 2**32 - 1, np.uint32)
    weight = _fitting(np.asarray(weights), -(2**15), 2**15 - 1, np.int16).astype(np.int16, copy=False)
    operation = _fitting(np.asarray(operations), 0, 3, None)
    made = np.empty(len(rows), DTYPE)
    # The operation as two bytes also writes the padding.
    words, halves = made.view(np.uint32).reshape(-1, 3), made.view(np.int16).reshape(-1, 6)
    words[:, 0] = _fitting(np.asarray(batch_offset), 0, 2**32 - 1, np.uint32)
    words[:, 1] = rows
    halves[:, 4] = weight
    halves[:, 5] = operation
    return made


def scalars(array: npt.NDArray[np.void]) -> Iterator[ChangelogRef]:
    """The references of an array, one by one."""
    for offset, row, weight, byte in array.tolist():
        operation = CdcOperation.from_u8(byte)
        if operation is None:
            raise UnreadableChange(what="a changelog reference", why=f"{byte} is no operation")
        yield ChangelogRef(offset, row, weight, operation)


def _fitting(values: npt.NDArray[Any], low: int, high: int, always: type[np.generic] | None) -> npt.NDArray[Any]:
    if values.dtype.kind not in "iu":
        raise InvalidChange(
            what=f"a reference made of {values.dtype} values", why="its fields are integers", fix="Pass integers."
        )
    if values.size and (always is None or not np.can_cast(values.dtype, always)):
        least, most = int(values.min()), int(values.max())
        if least < low or most > high:
            raise _too_wide(least if least < low else most)
    return values


def _too_wide(value: object) -> InvalidChange:
    return InvalidChange(
        what=f"a changelog reference of {value}",
        why="offset and row have 32 bits, the weight has 16, the operation is 0 to 3",
        fix="Split a large weight over several references, and a large batch into smaller ones.",
    )
