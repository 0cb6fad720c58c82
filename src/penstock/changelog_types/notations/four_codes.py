"""A notation that has one number for each of the four operations: lossless both ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.errors import UnreadableChange

_NONE = 255


@dataclass(frozen=True, slots=True)
class FourCodes:
    """`codes`, small numbers, stand in the order of insert, delete, update before, update after."""

    name: str
    codes: tuple[int, int, int, int]

    def code(self, operation: CdcOperation) -> int:
        """The number of an operation."""
        return self.codes[operation.value]

    def operation(self, code: int) -> CdcOperation:
        """The operation of a number."""
        if code not in self.codes:
            raise self._unknown(code)
        return CdcOperation(self.codes.index(code))

    def codes_of(self, operations: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The numbers of many operations."""
        return np.array(self.codes, np.uint8)[operations]

    def operations_of(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
        """The operations of many numbers."""
        table = np.full(256, _NONE, np.uint8)
        table[list(self.codes)] = range(4)
        outside = (codes < 0) | (codes > 255)
        if outside.any():
            raise self._unknown(int(codes[outside][0]))
        found: npt.NDArray[np.uint8] = table[codes]
        if (found == _NONE).any():
            raise self._unknown(int(codes[found == _NONE][0]))
        return found

    def _unknown(self, code: int) -> UnreadableChange:
        return UnreadableChange(what=self.name, why=f"{code} is not one of {', '.join(map(str, self.codes))}")
