"""A notation that has one word for each of the four operations: lossless both ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.errors import UnreadableChange


@dataclass(frozen=True, slots=True)
class FourLabels:
    """`labels` stand in the order of insert, delete, update before, update after."""

    name: str
    labels: tuple[str, str, str, str]

    def label(self, operation: CdcOperation) -> str:
        """The word for an operation."""
        return self.labels[operation.value]

    def operation(self, label: str) -> CdcOperation:
        """The operation of a word."""
        if label not in self.labels:
            raise self._unknown(label)
        return CdcOperation(self.labels.index(label))

    def labels_of(self, operations: npt.NDArray[np.uint8]) -> pa.Array:
        """The words for many operations, as text."""
        return pa.array(self.labels).take(pa.array(operations))

    def operations_of(self, labels: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.uint8]:
        """The operations of many words."""
        found = pc.index_in(labels, value_set=pa.array(self.labels, labels.type))
        if found.null_count:
            raise self._unknown(labels.filter(found.is_null())[0].as_py())
        numbers: npt.NDArray[np.int32] = found.to_numpy()
        return numbers.astype(np.uint8)

    def _unknown(self, label: object) -> UnreadableChange:
        return UnreadableChange(what=self.name, why=f"{label!r} is not one of {', '.join(self.labels)}")
