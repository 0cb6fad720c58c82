"""A notation in which an update is one event: one word each for insert, delete and update.

operations → words   −U directly followed by +U is one word, at the row of +U; half an update is refused
words → operations   an update is −U and +U of one event; the rows before it must be at hand
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.changelog_types.notations.joined_updates import half_an_update
from penstock.errors import NotConvertible

_BEFORE, _AFTER = 2, 3
_UPDATE = 2
_WORD = np.array([0, 1, _UPDATE, _UPDATE], np.uint8)


@dataclass(frozen=True, slots=True)
class ThreeLabels:
    """`labels` stand in the order of insert, delete, update; `also` has more words that mean one of them."""

    name: str
    labels: tuple[str, str, str]
    also: Mapping[str, str] = field(default_factory=dict)

    def labels_of(self, operations: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], pa.Array]:
        """One word per event, and the row of its newest image."""
        before, after = np.flatnonzero(operations == _BEFORE), np.flatnonzero(operations == _AFTER)
        if not np.array_equal(before + 1, after):
            raise half_an_update()
        rows = np.flatnonzero(operations != _BEFORE)
        return rows, pa.array(self.labels).take(pa.array(_WORD[operations[rows]]))

    def operations_of(self, labels: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """The operations of many words, and the event each belongs to: an update has two."""
        known = [*self.labels, *self.also]
        found = pc.index_in(labels, value_set=pa.array(known, labels.type))
        if found.null_count:
            raise NotConvertible(
                what=f"{self.name} {labels.filter(found.is_null())[0].as_py()!r}",
                target="operations of rows",
                why=f"it is not one of {', '.join(known)}",
                fix="Take such events apart before: a refresh is all old rows deleted and all new rows inserted.",
            )
        meaning = np.array([*range(3), *(self.labels.index(word) for word in self.also.values())])
        kinds = meaning[found.to_numpy()]
        events = np.repeat(np.arange(len(kinds)), np.where(kinds == _UPDATE, 2, 1))
        operations = kinds[events].astype(np.uint8)
        second = np.flatnonzero((operations == _BEFORE) & (np.diff(events, prepend=-1) == 0))
        operations[second] = _AFTER
        return events, operations
